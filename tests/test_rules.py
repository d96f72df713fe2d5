"""Rule ids: one id means one thing, at one level, and the manual has a page for each whose example raises it."""

import ast
import io
import itertools
import re
import shlex
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple, get_args

import pytest

from kvplan.core.ledger import Term
from kvplan.estimator import loading
from kvplan.explainer import manual
from tests.running import Run

ROOT = Path(__file__).parent.parent
README = ROOT / "README.md"
RAISES = ("Finding", "Caveat", "Refusal", "Found", "found")
RULE = re.compile(r"KV\d{3}")
CONSOLE = re.compile(r"```console\n(.*?)```", re.DOTALL)
COLUMNS = 78  # the text is set in by two
SECTIONS = ("What it says", "What it is", "Why it matters", "What to do", "Example")
RULES = [name for name in manual.ids() if manual.is_rule(name)]


class Example(NamedTuple):
    """What the page ``name`` shows of a terminal: a command, over one line or more, and what it prints."""

    name: str
    typed: str
    shown: str

    @property
    def words(self) -> list[str]:
        return shlex.split(self.typed.replace("\\\n", " "))


def trees() -> Iterator[ast.Module]:
    return (ast.parse(path.read_text(encoding="utf-8")) for path in sorted((ROOT / "kvplan").rglob("*.py")))


def raised() -> set[tuple[str, str]]:
    """(id, level) of each finding, caveat and refusal in the code; an engine's own refusals have no level but that."""
    return {
        (str(ast.literal_eval(call.args[0])), "refusal" if call.func.id == "Refusal" else str(ast.literal_eval(call.args[1])))
        for tree in trees()
        for call in ast.walk(tree)
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id in RAISES
        if isinstance(call.args[0] if call.args else None, ast.Constant)
    }


def examples() -> Iterator[Example]:
    for name in manual.ids():
        for section in manual.read(name).sections:
            for block in CONSOLE.findall(section.text + "\n"):
                lines = block.removeprefix("$ ").splitlines(keepends=True)
                n = next(n for n in range(1, len(lines) + 1) if _is_whole("".join(lines[:n])))
                yield Example(name, "".join(lines[:n]), "".join(lines[n:]))


def _is_whole(typed: str) -> bool:
    """Whether a shell would run it, and not wait for more."""
    try:
        shlex.split(typed)
    except ValueError:
        return False
    return not typed.endswith(("\\\n", "|\n"))


EXAMPLES = list(examples())


def test_a_rule_has_one_level() -> None:
    ids = [rule for rule, _ in raised()]
    assert sorted(ids) == sorted(set(ids))


def test_every_id_in_the_code_is_raised_somewhere() -> None:
    words = {node.value for tree in trees() for node in ast.walk(tree) if isinstance(node, ast.Constant) and isinstance(node.value, str)}
    assert {word for word in words if RULE.fullmatch(word)} == {rule for rule, _ in raised()}


def test_exactly_these_rules_have_a_page() -> None:
    assert [(name, manual.read(name).level) for name in RULES] == sorted(raised())


def test_every_term_of_the_ledger_has_a_page() -> None:
    assert set(get_args(Term)) <= set(manual.ids())


@pytest.mark.parametrize("name", manual.ids())
def test_pages_are_alike(name: str) -> None:
    page = manual.read(name)
    titles = [section.title for section in page.sections]
    assert titles == [title for title in SECTIONS if title in titles]
    assert titles[:3] == ["What it says" if manual.is_rule(name) else "What it is", "Why it matters", "What to do"]
    assert all(section.text for section in page.sections)
    assert max(len(line) for section in page.sections for line in section.text.splitlines()) <= COLUMNS
    assert "\n" not in page.summary


def test_summaries_differ() -> None:
    summaries = [manual.read(name).summary for name in manual.ids()]
    assert len(set(summaries)) == len(summaries)


def test_pages_mention_rules_that_exist() -> None:
    text = " ".join(section.text for name in manual.ids() for section in manual.read(name).sections)
    assert set(RULE.findall(text)) <= set(RULES)


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.name)
def test_examples_raise_their_rule(kvplan: Run, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, example: Example) -> None:
    words = example.words
    if words[0] == "echo":
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(words[1].encode())))
        loading.sized.cache_clear()  # which keeps what stdin was
        words = words[3:]
    assert words[0] == "kvplan"
    ran = kvplan(*words[1:])
    assert ran.code == 0 or (words[1] == "check" and ran.code == 1)
    if not manual.is_rule(example.name):
        return
    said = _said(ran.out + ran.err, example.name)
    assert said
    if request.config.getoption("--update-golden"):
        path = manual.FOLDER / f"{example.name}.md"
        text = path.read_text(encoding="utf-8")
        path.write_text(text.replace(f"{example.typed}{example.shown}```", f"{example.typed}{_wrapped(said)}```"), encoding="utf-8")
    else:
        assert example.shown == _wrapped(said)


def _said(printed: str, rule: str) -> list[str]:
    """The lines that name ``rule``, and their hints; a check shows the source line in between."""
    lines = printed.splitlines()
    named = [i for i, line in enumerate(lines) if f"[{rule}]" in line]
    return [line for i in named for line in (lines[i], *_hint(lines[i + 1 :]))]


def _hint(lines: list[str]) -> list[str]:
    below = itertools.takewhile(lambda line: line.startswith("  "), lines)
    return [line for line in below if line.startswith("  hint: ")]


def _wrapped(lines: list[str]) -> str:
    return "".join(
        f"{textwrap.fill(line, COLUMNS, break_long_words=False, break_on_hyphens=False, subsequent_indent='  ')}\n" for line in lines
    )


def test_most_rules_have_an_example() -> None:
    """All but those that need the Hub, files of weights, a GPU to be measured, or a model to be run."""
    without = set(RULES) - {example.name for example in EXAMPLES}
    assert without == {"KV016", "KV017", "KV018", "KV019", "KV020", "KV021", "KV400", "KV660", "KV661", "KV662"}


def test_the_readme_has_a_block_for_each_rule() -> None:
    rows = re.findall(r"^\| `(KV\d{3})`(?: – `(KV\d{3})`)? \|", README.read_text(encoding="utf-8"), re.MULTILINE)
    blocks = [(first, last or first) for first, last in rows]
    assert blocks == sorted(blocks)
    assert [sum(first <= rule <= last for first, last in blocks) for rule in RULES] == [1] * len(RULES)
    assert {rule for block in blocks for rule in block} <= set(RULES)
