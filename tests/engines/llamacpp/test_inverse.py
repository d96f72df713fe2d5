"""A command made from settings gives the same settings back."""

import pytest
from hypothesis import given
from hypothesis import settings as limits
from hypothesis import strategies as st

import kvplan
from kvplan.core.device import Node
from kvplan.core.engine import Parsed
from kvplan.core.workload import Workload
from kvplan.engines.llamacpp.command import parse
from kvplan.engines.llamacpp.resolve import resolve
from kvplan.engines.llamacpp.rules import VERSIONS
from kvplan.engines.llamacpp.spelled import command
from kvplan.hardware import catalog

MODEL = kvplan.load_model("llama-2-7b")
NODES = [Node(None, None, ()), Node(None, None, (), isa="arm64"), catalog.node("h100-sxm", n_gpus=1), catalog.node("rtx-3090", n_gpus=3)]
LOAD = Workload(4096, 3, 4095)
CACHE = st.sampled_from(["f16", "bf16", "q8_0", "iq4_nl"])


def pairs(name: str, values: st.SearchStrategy[object]) -> st.SearchStrategy[tuple[str, ...]]:
    return values.map(lambda value: (name, str(value)))


def alone(*names: str) -> st.SearchStrategy[tuple[str, ...]]:
    return st.sampled_from([(name,) for name in names])


COMMON = [
    pairs("-c", st.sampled_from([0, 1000, 8192])),
    pairs("-np", st.integers(-1, 9)),
    pairs("-b", st.integers(1, 4096)),
    pairs("-ub", st.integers(1, 4096)),
    pairs("-fa", st.sampled_from(["on", "off", "auto", "1"])),
    pairs("-ctk", CACHE),
    pairs("--cache-type-v", CACHE),
    pairs("-ngl", st.sampled_from(["all", "auto", "0", "17", "-5"])),
    pairs("-dev", st.sampled_from(["none", "CUDA0", "CUDA2,CUDA0", "Metal"])),
    pairs("-sm", st.sampled_from(["none", "layer", "row"])),
    pairs("-mg", st.integers(-1, 3)),
    pairs("-ts", st.sampled_from(["3,1", "1/1/2"])),
    pairs("-ot", st.sampled_from(["exps=CPU", r"blk\.1\.=CUDA0,blk\.2\.=CPU"])),
    pairs("--n-cpu-moe", st.integers(0, 9)),
    pairs("--n-cpu-ffn", st.integers(0, 9)),
    pairs("-lm", st.sampled_from(["auto", "none", "mlock", "mmap+mlock", "dio"])),
    pairs("--fit", st.sampled_from(["on", "off"])),
    pairs("-fitt", st.sampled_from(["512", "512,1024"])),
    pairs("-fitc", st.integers(1, 9999)),
    pairs("--lora", st.sampled_from(["a.gguf", "a.gguf,b.gguf"])),
    alone(
        "--swa-full",
        "-nkvo",
        "--kv-offload",
        "--no-repack",
        "--no-host",
        "--no-op-offload",
        "-cmoe",
        "--no-mmap",
        "--mmap",
        "--mlock",
        "-dio",
    ),
]
SERVED = [
    *(pairs("-cram", st.integers(-1, 9999)), pairs("-ctxcp", st.integers(0, 99)), pairs("-cms", st.integers(0, 99))),
    *(
        pairs("--mmproj", st.just("p.gguf")),
        pairs("--spec-draft-n-max", st.integers(1, 9)),
        pairs("-ctkd", CACHE),
        pairs("-ngld", st.just("9")),
    ),
    *(
        pairs("--spec-type", st.sampled_from(["draft-mtp", "draft-eagle3", "ngram-mod", "draft-mtp,ngram-mod"])),
        pairs("-md", st.just("d.gguf")),
    ),
    *(alone("-kvu", "-no-kvu", "--embeddings", "--rerank", "--no-mmproj-offload"), pairs("--kv-unified-per-slot", st.integers(1, 9999))),
    *(pairs("--slot-save-path", st.just("/s")), pairs("--draft-max", st.integers(1, 9))),
]
MODELS = st.sampled_from(
    [("-m", "x.gguf"), ("-m", "a/x.gguf"), ("-hf", "a/b"), ("-hf", "a/b:Q4_K_M"), ("-hf", "a/b", "-hff", "c.gguf"), ()]
)


def lines(program: str, flags: list[st.SearchStrategy[tuple[str, ...]]]) -> st.SearchStrategy[tuple[str, ...]]:
    several = st.lists(st.one_of(flags), max_size=7)
    return st.builds(lambda model, said: (program, *model, *(word for flag in said for word in flag)), MODELS, several)


LINES = st.one_of(lines("llama-server", [*COMMON, *SERVED]), lines("llama-cli", COMMON), lines("llama-completion", COMMON))


@limits(max_examples=400)
@given(LINES, st.sampled_from(NODES), st.sampled_from(VERSIONS))
def test_the_command_of_settings_gives_them_back(line: tuple[str, ...], node: Node, version: str) -> None:
    found = resolve(parse(line, {}, version), LOAD, MODEL, node, version)
    again = parse(command(found), {}, version)
    assert resolve(again, Workload(1, 1, 1), MODEL, node, version) == found


@given(st.sampled_from(NODES), st.sampled_from(VERSIONS), st.integers(1, 9))
def test_so_do_settings_without_a_command(node: Node, version: str, batch: int) -> None:
    found = resolve(Parsed("llama.cpp", version, None), LOAD._replace(batch=batch), MODEL, node, version)
    assert found.n_ctx == LOAD.ctx_tokens * batch
    assert resolve(parse(command(found), {}, version), Workload(1, 1, 1), MODEL, node, version) == found


BENCH = (
    "llama-bench -m x.gguf -p 512,2048 -n 128 -pg 4096,128 -d 1024 -b 256 -ub 128,64 -ctk f16 -ctv q8_0 -fa 1 -ngl 20,30 -sm row -mg 1 "
    "-ncmoe 4 -lm mlock -dev CUDA0/CUDA1 -ts 3/1 -ot exps=CPU;x=CUDA1 -nkvo 1 -nopo 1 --no-host 1 -embd 1"
)


@pytest.mark.parametrize("line", [BENCH, "llama-bench -m x.gguf", "llama-bench -m x.gguf -ngl -1"])
def test_so_does_a_benchmark(line: str) -> None:
    found = resolve(parse(line.split(), {}, ""), LOAD, MODEL, NODES[3], "b11434")
    again = parse(command(found), {}, "")
    assert not again.refusals
    assert resolve(again, LOAD, MODEL, NODES[3], "b11434") == found


EVERYTHING = (
    "llama-server -hf a/b:Q8_0 -c 9000 -np 3 -kvu -b 1000 -ub 100 -fa off -ctk bf16 -ctv f32 --swa-full -dev CUDA1,CUDA0 -ngl 7 -sm row "
    "-mg 1 -ts 3,1 -ot exps=CPU,x=CUDA1 --cpu-moe --n-cpu-moe 2 --n-cpu-ffn 3 -nkvo --no-op-offload --no-host --no-repack -lm dio "
    "--fit off --fit-target 1,2 --fit-ctx 3 --lora a --mmproj p --no-mmproj-offload --cache-ram 1 --ctx-checkpoints 2 "
    "--checkpoint-min-step 3 --slot-save-path /s --spec-type draft-eagle3 --spec-draft-n-max 5 -md d -ctkd q8_0 -ctvd q4_0 -ngld {}"
)


@pytest.mark.parametrize("layers", ["9", "all"])
def test_every_setting_can_be_said(layers: str) -> None:
    line = EVERYTHING.format(layers).split()
    found = resolve(parse(line, {}, ""), LOAD, MODEL, NODES[3], "b11434")
    assert sorted(command(found)) == sorted(line)
    assert resolve(parse(command(found), {}, ""), LOAD, MODEL, NODES[3], "b11434") == found
