"""Variables, tokens and commands of scripts."""

import pytest

from kvplan.checker import containers, scripts
from kvplan.checker.pins import pinned
from kvplan.checker.server import Word
from kvplan.checker.shell_tokens import tokens
from kvplan.checker.variables import Style, expand, left_in

EXPANDED: list[tuple[Style, str, str, tuple[str, ...]]] = [
    ("shell", "$A ${A} ${B} $1", "1 1 ${B} $1", ("B", "1")),
    ("shell", "${B:-${C:-d}} ${A:-x} ${E:-x} ${E-x}", "d 1 x ", ()),
    ("shell", "${A:+--x ${A}} ${B:+--y ${B}}", "--x 1 ", ()),
    ("shell", "${B:?say it} ${A:?x} ${A%.x} ${#A} cost 5$", "${B:?say it} 1 ${A%.x} ${#A} cost 5$", ("B", "A")),
    ("shell", '${B:=z} ${B:-"x y"}', "z x y", ()),
    ("compose", '$$A {"t":${T:-1.0}}', '$A {"t":1.0}', ()),
    ("kubernetes", "$(A) $(B) $$(A) $A", "1 $(B) $(A) $A", ("B",)),
    ("batch", "%A%\\x %B% 100%", "1\\x %B% 100%", ("B",)),
]


@pytest.mark.parametrize(("style", "text", "expected", "unresolved"), EXPANDED)
def test_variables(style: Style, text: str, expected: str, unresolved: tuple[str, ...]) -> None:
    found = expand(text, {"A": "1", "E": ""}, style)
    assert (found.text, found.unresolved) == (expected, unresolved)


def test_what_is_left_has_a_name() -> None:
    assert set(left_in("$HOME/x ${B} $(C) %D% $(nproc --all) {{ .Values.model }} ${E:?x}")) == {"B", "C", "D", "E", "model", "command"}
    assert left_in("100% of it costs 5$") == ()


def test_tokens_know_where_they_stand() -> None:
    found = [(token.raw or token.operator, token.line, token.column) for token in tokens("a \\\n  'b\nc' d # e\nf", 10, 5)]
    assert found == [("a", 10, 5), ("b\nc", 11, 7), ("d", 12, 8), ("\n", 12, 13), ("f", 13, 5)]


@pytest.mark.parametrize("text", ["'", '"', "$(", "${", "`", "<<E", "<<<", "<(", "a=(", "(", ")", "\\", "$'", "#", "a=(<(", "& < >"])
def test_tokens_end(text: str) -> None:
    assert sum(1 for _ in tokens(f"{text} x {text}")) < 12


RUNS = {
    "words": ("a 'b c' \"d $X\" $Y", ["a|b c|d 1|2|3"]),
    "sets": ("X=5\nZ=$X-$UNSET\na $X $Z", ["a|1|$Z"]),
    "exports": ("export V=1\nW=2 a", ["V=1 W=2 a"]),
    "arrays": ('L=(a "b c")\nL+=(d)\nrun "${L[@]}" ${NONE[@]}', ["run|a|b c|d|${NONE[@]}"]),
    "redirections": ("a > b 2>&1 < c | tee d && e >> f", ["a", "tee|d", "e"]),
    "functions": ("f() { a $1 $2; }\nfunction g {\n  b\n}\nf x\n", ["a|x|$2", "b"]),
    "loops": ("for m in one; do a $m; done\nfor m in one two; do b $m; done", ["a|one", "b|$m"]),
    "branches": ("P=1\nif t; then P=2; Q=3; else Q=4; R=5; fi\na $P $Q $R", ["t", "a|1|$Q|5"]),
    "cases": ("case $K in\n x|y) a;;\n *) b;;\nesac", ["x", "y", "a", "*", "b"]),
    "shells": ('bash -lc \'a "$@"\' -- x y\neval "b c"\nsh -c "d; e"', ["a|x|y", "b|c", "d", "e"]),
    "itself": ("f() { f; }\nf\n", ["f"]),
    "escapes": ("a \"\\$X\" \\$X $'t\\tx'", ["a|$X|$X|t\tx"]),
    "positional": ('set -- p q\na $1 "$@"', ["a|p|p|q"]),
    "unset": ("A=1\nunset A\na $A", ["a|$A"]),
}


@pytest.mark.parametrize("name", RUNS)
def test_commands(name: str) -> None:
    text, expected = RUNS[name]
    found = []
    for run in scripts.commands(Word(text, 1), {"X": "1", "Y": "2 3"}):
        env = "".join(f"{key}={value.text} " for key, value in run.env.items())
        found.append(env + "|".join(word.text for word in run.words))
    assert found == expected


def _words(text: str) -> tuple[Word, ...]:
    return next(iter(scripts.commands(Word(text, 1), {}))).words


@pytest.mark.parametrize(
    ("text", "image", "n_gpus", "words"),
    [
        ("docker run --rm -it --gpus all img:1 a", "img:1", None, ["a"]),
        ("docker run --gpus=2 -eA=1 -p80:80 img", "img", 2, []),
        ("podman run --device nvidia.com/gpu=0 img a b", "img", 1, ["a", "b"]),
        ("docker container run --gpus '\"device=0,1\"' --entrypoint 'x y' img z", "img", 2, ["x", "y", "z"]),
        ("docker run -e CUDA_VISIBLE_DEVICES=1,2,3 img", "img", 3, []),
        ("docker run -e NVIDIA_VISIBLE_DEVICES=none img", "img", 0, []),
    ],
)
def test_containers(text: str, image: str, n_gpus: int | None, words: list[str]) -> None:
    found = containers.read(_words(text))
    assert found is not None
    assert (found.image.text, found.gpus.n_gpus, [word.text for word in found.words]) == (image, n_gpus, words)


@pytest.mark.parametrize("text", ["docker pull img", "docker run --rm", "docker compose up", "run img"])
def test_no_containers(text: str) -> None:
    assert containers.read(_words(text)) is None


def test_pins() -> None:
    assert pinned("a\npip install 'vllm[audio]==0.10.2' my-vllm==1.0\nsglang==0.4.1.post2") == {
        "vllm": Word("0.10.2", 2),
        "sglang": Word("0.4.1.post2", 3),
    }


GROWING = {
    "values": "A=xxxxxxxx\n" + "A=$A$A\n" * 60 + "run " + "$A " * 400,
    "arrays": "L=(a)\n" + 'L+=("${L[@]}")\n' * 40 + 'run "${L[@]}" "${L[@]}"',
    "arguments": "set -- a b\n" + 'set -- "$@" "$@"\n' * 40 + 'run "$@"',
    "functions": "".join(f"f{i}() {{ f{i + 1}; f{i + 1}; f{i + 1}; }}\n" for i in range(9)) + "f9() { run x; }\nf0\n",
    "evaluation": 'a=\'eval "$a"\'\neval "$a"\nrun x',
    "braces": "run " + "${A:-" * 3000 + "x" + "}" * 3000,
}


@pytest.mark.parametrize("name", GROWING)
def test_what_grows_has_an_end(name: str) -> None:
    found = list(scripts.commands(Word(GROWING[name], 1), {}))
    assert sum(len(word.text) for run in found for word in run.words) <= 10_000_000
