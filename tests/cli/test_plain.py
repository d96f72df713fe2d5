"""The quick reader and click agree on every line that the quick reader takes."""

from hypothesis import given
from hypothesis import strategies as st

from kvplan.cli import app, catalog, plain

ESTIMATE = catalog.command("estimate")
WORDS = st.sampled_from(["llama-2-7b", "-", "4096", "32k", "x.json", "a b"])
VALUED = [option for option in ESTIMATE.options if option.metavar]
FLAGS = [option.flag for option in ESTIMATE.options if not option.metavar]


@st.composite
def lines(draw: st.DrawFn) -> list[str]:
    parts: list[list[str]] = draw(st.lists(st.sampled_from(FLAGS).map(lambda flag: [flag]), max_size=3))
    for option in draw(st.lists(st.sampled_from(VALUED), max_size=4)):
        value = draw(st.sampled_from(option.choices) if option.choices else WORDS)
        joined = draw(st.booleans()) and option.flag.startswith("--")
        parts.append([f"{option.flag}={value}"] if joined else [option.flag, value])
    parts += [[word] for word in draw(st.lists(WORDS, max_size=1))]
    line = [word for part in draw(st.permutations(parts)) for word in part]
    return line + (["--", "transformers", "m", "dtype=float16"] if draw(st.booleans()) else [])


@given(lines())
def test_both_readers_read_the_same(line: list[str]) -> None:
    quick = plain.read(ESTIMATE, line)
    assert quick is not None
    thorough = app.said(["estimate", *line])
    assert thorough is not None
    assert thorough[1] == quick


def test_anything_unusual_is_left_to_click() -> None:
    for line in (["--help"], ["--ctx"], ["--ctxx", "4"], ["--json=1"], ["a", "b"], ["--attn", "fast"], ["--ctx", "--json"]):
        assert plain.read(ESTIMATE, line) is None
