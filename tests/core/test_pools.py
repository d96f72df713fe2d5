"""What servers with pools of tokens share: words, lines, cells, pools."""

import pytest

import kvplan
from kvplan.core import option_file, rank_costs
from kvplan.core.cells import Form, cells
from kvplan.core.errors import RequestError
from kvplan.core.flag_words import Grammar, read, table
from kvplan.core.mixers import Mixer
from kvplan.core.mixers.gated_delta import GatedDeltaNet
from kvplan.core.mixers.linear import LinearAttention
from kvplan.core.mixers.mamba1 import Mamba1
from kvplan.core.mixers.mamba2 import Mamba2
from kvplan.core.mixers.rwkv import Rwkv
from kvplan.core.mixers.short_conv import ShortConv
from kvplan.core.server_line import Program, started
from kvplan.core.splitting import head_counts
from kvplan.core.state_shapes import asked_dtype, state_elems
from kvplan.core.token_pool import Part, Pool, States
from kvplan.core.told import Told

GRAMMAR = Grammar(
    engine="x",
    known=table("1.0-2.0: gone 1.0-: model size share on! names* maybe? other 2.0-: newer size-of-it"),
    kinds={"size": "human", "share": "share", "on": "switch", "newer": "whole"},
    same={"n": "size", "short": "share"},
    newest="3.0",
    cuts=True,
    positional=True,
)


@pytest.mark.parametrize(
    ("words", "flags"),
    [
        ("--size 4k", [("size", "4000")]),
        ("--size=4K", [("size", "4096")]),
        ("--size -1", [("size", "-1")]),
        ("-n 7 --short .5", [("size", "7"), ("share", "0.5")]),
        ("--on --share 1", [("on", "true"), ("share", "1.0")]),
        ("--on=false --new 3", [("on", "false"), ("newer", "3")]),
        ("--names a b --maybe --on", [("on", "true")]),
    ],
)
def test_words(words: str, flags: list[tuple[str, str]]) -> None:
    assert [(flag.name, flag.value) for flag in read(words.split(), GRAMMAR, "2.1").flags] == flags


def test_strange_words() -> None:
    found = read(["m", "--gone", "1", "--newer", "2", "--siz", "3", "--shape", "4", "more", "--other", "5"], GRAMMAR, "2.0")
    assert found.model == "m"
    assert [(flag.name, hint) for flag, hint in found.strange] == [
        ("--gone", "x takes it from 1.0 to before 2.0"),
        ("--siz", "did you mean 'size' or 'size-of-it'?"),
        ("--shape", "did you mean 'share'?"),
        ("more", "a word of no flag"),
    ]
    old = read(["--newer", "2", "--siz", "3"], GRAMMAR, "1.0")
    assert [hint for _, hint in old.strange] == ["x takes it from 2.0"]
    assert [flag.name for flag in old.flags] == ["size"]
    assert read(["a"], GRAMMAR._replace(positional=False), "2.0").model is None
    assert read(["--siz", "1"], GRAMMAR._replace(cuts=False), "2.0").flags == ()


@pytest.mark.parametrize("words", ["--size", "--size 4.5", "--share 0", "--share x", "--on=maybe", "--newer -1", "--newer 1k"])
def test_wrong_words(words: str) -> None:
    with pytest.raises(RequestError):
        read(words.split(), GRAMMAR, "2.0")


PROGRAM = Program("srv", lambda words: int(words[0] == "srv-run"), lambda image: "srv" in image, lambda image: "9.9", "srv-run M")


@pytest.mark.parametrize(
    ("argv", "words", "env", "version"),
    [
        (("srv",), (), {}, None),
        (("A=1", "srv-run", "m"), ("m",), {"A": "1"}, None),
        (("cd", "/x", "&&", "uv", "run", "srv-run", "m"), ("m",), {}, None),
        (("cd /x; B=2 srv-run 'm m' \\\n --x",), ("m m", "--x"), {"B": "2"}, None),
        (("docker", "run", "-e", "C=3", "o/srv:1", "--x"), ("--x",), {"C": "3"}, "9.9"),
        (("docker", "run", "o/any:1", "bash", "-c", "srv-run m"), ("m",), {}, "9.9"),
        (("--x", "1"), ("--x", "1"), {}, None),
        (("echo;", "srv-run", "m"), ("m",), {}, None),
    ],
)
def test_lines(argv: tuple[str, ...], words: tuple[str, ...], env: dict[str, str], version: str | None) -> None:
    found = started(argv, PROGRAM)
    assert (found.words, dict(found.env), found.version, found.bare) == (words, env, version, argv == ("srv",))


@pytest.mark.parametrize("argv", [("ls",), ("srv-run 'm",), (";",), ("docker", "run", "other", "x")])
def test_lines_that_start_nothing(argv: tuple[str, ...]) -> None:
    with pytest.raises(RequestError):
        started(argv, PROGRAM)


def test_option_files() -> None:
    assert option_file.named(("a", "--file"), ("--file",)) is None
    assert option_file.without(("a", "--file", "f", "b"), ("--file",)) == (("a", "b"), 1)
    assert option_file.as_words({"a": None, "b": False, "c": True, "d": 1}) == ("--c", "--d", "1")


def test_what_was_told() -> None:
    told = Told(read(["--size", "1", "--size", "2"], GRAMMAR, "2.0").flags)
    assert ("size" in told, "on" in told, told.count("size"), told.number("on", 3), told.on("on"), told.word("on")) == (
        *(True, False, 2, 3, False, None),
    )
    assert told.share("share") is None


def test_pools_of_states_alone() -> None:
    pool = Pool((), 1, 0, States(10, 3, 1))
    assert (pool.slots_in(100), pool.tokens_in(100), pool.used(5, 2), pool.at_once(0, 9, 5), pool.longest(0, 9, 7)) == (9, 0, 70, 3.0, 7)
    assert pool.longest(0, 2, 7) == 0
    assert (pool.fits(0, 6, 1, 2), pool.fits(0, 5, 1, 2)) == (True, False)


def test_pools_of_two_parts() -> None:
    # half as many tokens behind a window of 64: a sequence of 1,000 needs 1,000 of the first and 80 of the second
    pool = Pool((Part(4), Part(2, 64, 500)), 16)
    assert (pool.token_bytes, pool.wanted(1000, 1), pool.wanted(64, 1), pool.n_bytes(1600)) == (5, 1008, 128, 1600 * 4 + 800 * 2)
    assert pool.tokens_in(5 * 1600) == 1600
    assert pool.longest(1600, 0, 10**6) == 1600
    assert Pool((Part(4),), 16, most_tokens=100).tokens_in(10**6) == 96
    fixed = Pool((Part(4),), 1, 0, States(10, 1, 1, n_slots=3))
    assert (fixed.tokens_in(100), fixed.used(2, 1), fixed.used(2, 9)) == (15, 8 + 40, 72 + 100)
    shared = Pool((Part(4),), 1, 0, States(10, 1, 0, per_mille=500))
    assert (shared.used(100, 1), shared.used(1, 40)) == (400 + 200, 400 + 800)


def test_cells_of_every_kind() -> None:
    whisper, sparse = kvplan.load_model("whisper-large-v3"), kvplan.load_model("minimax-m2")
    found = cells(whisper, Form(1, "float16"))
    assert {cell.kind for cell in found.tokens} == {"full", "cross"}
    assert found.every_group()[0].n_layers == 32
    assert cells(sparse, Form(16, "bfloat16")).tokens[0].n_bytes == 2 * 128 * 2
    gemma = kvplan.load_model("gemma-3-1b")
    assert {cell.window_tokens for cell in cells(gemma, Form(1, "bfloat16")).tokens} == {None, 512}
    assert {cell.kind for cell in cells(gemma, Form(1, "bfloat16", windows=False)).tokens} == {"full"}
    mamba = cells(kvplan.load_model("falcon-mamba-7b"), Form(1, "bfloat16"))
    assert (mamba.tokens, mamba.n_state_layers, mamba.every_group()[0].kind) == ((), 64, "recurrent")


def test_layers_that_read_anothers_cache_keep_none() -> None:
    nested = kvplan.load_model("gemma-3n-e2b")
    assert len(cells(nested, Form(1, "bfloat16")).tokens) < nested.n_layers


@pytest.mark.parametrize(
    ("mixer", "expected"),
    [
        (Mamba1(8192, 16, 4, 256), (4096 * 3, 4096 * 16)),
        (Mamba2(64, 64, 128, 8, 4), ((4096 + 2 * 8 * 128) // 2 * 3, 32 * 64 * 128)),
        (Mamba2(64, 64, 128, 1, 4), ((4096 + 2 * 2 * 128) // 2 * 3, 32 * 64 * 128)),  # groups are repeated where they are fewer
        (GatedDeltaNet(16, 32, 128, 128, 4), (8192 // 2 * 3, 16 * 128 * 128)),
        (ShortConv(2048, 3), (1024 * 2, 0)),
        (LinearAttention(64, 128, 128), (0, 32 * 128 * 128)),
        (Rwkv(4096, 64, 64), (0, 0)),
    ],
)
def test_states_on_one_of_two_ranks(mixer: Mixer, expected: tuple[int, int]) -> None:
    assert state_elems(mixer, 2) == expected
    assert asked_dtype(mixer) is None


def test_weights_of_stages() -> None:
    llama, tied = kvplan.load_model("llama-3.1-8b"), kvplan.load_model("gemma-3-1b")
    whole = rank_costs.weights(llama, "bfloat16", rank_costs.Ways(1))[0]
    assert whole.best == llama.weight_bytes
    assert sum(size.best for size in rank_costs.weights(llama, "bfloat16", rank_costs.Ways(1, 2))) == whole.best
    halves = rank_costs.weights(tied, "bfloat16", rank_costs.Ways(1, 2))
    assert sum(size.best for size in halves) > tied.weight_bytes  # the head's stage has the embedding, too
    guessed = rank_costs.weights(llama._replace(exact=False), "bfloat16", rank_costs.Ways(1))[0]
    assert guessed.low < whole.low <= whole.high < guessed.high
    assert head_counts(kvplan.load_model("falcon-mamba-7b")) == (0, 0)
    assert rank_costs.forward(kvplan.load_model("falcon-mamba-7b"), "bfloat16", 1, 10, 0).best > 0
