"""Rule ids: one id means one thing, at one level, and the manual lists them all."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parent.parent
RULE = re.compile(r"KV\d{3}")


def trees() -> Iterator[ast.Module]:
    return (ast.parse(path.read_text(encoding="utf-8")) for path in sorted((ROOT / "kvplan").rglob("*.py")))


def raised() -> set[tuple[str, str]]:
    """(id, level) of each finding, caveat and refusal in the code; an engine's own refusals have no level but that."""
    return {
        (str(ast.literal_eval(call.args[0])), "refusal" if call.func.id == "Refusal" else str(ast.literal_eval(call.args[1])))
        for tree in trees()
        for call in ast.walk(tree)
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id in ("Finding", "Caveat", "Refusal")
        if isinstance(call.args[0] if call.args else None, ast.Constant)
    }


def test_a_rule_has_one_level() -> None:
    ids = [rule for rule, _ in raised()]
    assert sorted(ids) == sorted(set(ids))


def test_every_id_in_the_code_is_raised_somewhere() -> None:
    words = {node.value for tree in trees() for node in ast.walk(tree) if isinstance(node, ast.Constant) and isinstance(node.value, str)}
    assert {word for word in words if RULE.fullmatch(word)} == {rule for rule, _ in raised()}


def test_the_manual_lists_exactly_these_rules() -> None:
    section = (ROOT / "README.md").read_text(encoding="utf-8").partition("\n## Findings\n")[2].partition("\n## ")[0]
    rows = [tuple(cell.strip() for cell in line.strip("|").split("|")) for line in section.splitlines() if line.startswith("| `KV")]
    assert [(rule.strip("`"), level) for rule, level, _ in rows] == sorted(raised())
    assert all(says for *_, says in rows)
    assert len({says for *_, says in rows}) == len(rows)
