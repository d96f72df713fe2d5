"""Every format on files that were damaged, and on text that is none of its own: something is found or not, nothing is raised."""

from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from kvplan import _discover
from kvplan.checker import starts
from kvplan.checker.server import Server, Text, Unreadable

DATA = Path(__file__).parent.parent / "data" / "check"
FILES = sorted(path for path in DATA.rglob("*") if path.is_file())
FORMATS = _discover.modules("kvplan.checker.documents")
SCRAPS = st.sampled_from(
    (
        *("null", "[]", "{}", "- x", '"', "${X", "{{ .Values.a }}", "{{", "}}", "\t", "&a", "*a", "!!python/object:x", "-1", "1e9"),
        *("9" * 30, "|", ">", "'", "%", "x: y: z", "\0", "é", "$(A)", "`x`", "\\", "#", "<<: *a", "[*]", '"""', "FROM", "--", "---"),
    )
)


@st.composite
def damaged(draw: st.DrawFn) -> Text:
    path = draw(st.sampled_from(FILES))
    lines = path.read_text(encoding="utf-8").split("\n")
    for _ in range(draw(st.integers(1, 5))):
        at = draw(st.integers(0, len(lines) - 1))
        scrap = draw(SCRAPS)
        key = lines[at].partition(":")[0]
        column = draw(st.integers(0, len(lines[at])))
        lines[at] = draw(
            st.sampled_from(("", scrap, f"{key}: {scrap}", lines[at] + "\n" + scrap, lines[at][:column] + scrap + lines[at][column:]))
        )
    variables = draw(st.sampled_from(({}, {"MODEL": "a/b", "X": "1"})))
    return Text(str(path), "\n".join(lines), variables)


def _read(file: Text) -> None:
    for format_ in FORMATS.values():
        if not format_.claims(file):
            continue
        for found in format_.servers(file):
            assert isinstance(found, Server | Unreadable)
            if isinstance(found, Server):
                list(starts.servers(found, file.variables))


@given(damaged())
@settings(max_examples=150, deadline=None)
def test_damaged_files(file: Text) -> None:
    _read(file)


@given(st.text(max_size=300), st.sampled_from([path.name for path in FILES]))
@settings(max_examples=60, deadline=None)
def test_any_text(text: str, name: str) -> None:
    _read(Text(name, text))
