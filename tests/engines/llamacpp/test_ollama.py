"""Ollama in front of llama.cpp: what it chooses by itself, and what its words mean."""

import pytest
from hypothesis import given
from hypothesis import settings as limits
from hypothesis import strategies as st

import kvplan
from kvplan.core.device import Gpu, Node
from kvplan.core.engine import Flag, Parsed
from kvplan.core.errors import RequestError
from kvplan.core.units import GIB
from kvplan.core.workload import Workload
from kvplan.engines.llamacpp import modelfile
from kvplan.engines.llamacpp.ollama import ENGINE, build_of
from kvplan.engines.llamacpp.settings import Override, Settings
from kvplan.hardware import catalog

MODEL = kvplan.load_model("llama-3.1-8b")
LOAD = Workload(4096, 2, 4095)
NOWHERE = Node(None, None, ())


def cards(*gib: float, vendor: str = "nvidia", unified: bool = False) -> Node:
    gpus = tuple(Gpu(f"g{i}", f"g{i}", vendor, int(size * GIB), int(size * GIB), unified=unified) for i, size in enumerate(gib))
    return Node("cards", "flag", gpus)


def started(line: str, node: Node = NOWHERE, version: str = "0.34.2") -> Settings:
    return ENGINE.resolve(ENGINE.parse(line.split(), {}, version), LOAD, MODEL, node, version)


@pytest.mark.parametrize(
    ("node", "n_ctx"),
    [
        pytest.param(NOWHERE, 4096, id="no card"),
        pytest.param(cards(22.9), 4096, id="below 23 GiB"),
        pytest.param(cards(23), 32768, id="23 GiB"),
        pytest.param(cards(24, 24), 131072, id="48 GiB in two, and the model's own limit"),
        pytest.param(cards(12, 12), 32768, id="the sum counts"),
    ],
)
def test_the_context_depends_on_the_cards(node: Node, n_ctx: int) -> None:
    """Source: ollama 0.34 server/routes.go: 262144 from 47 GiB, 32768 from 23 GiB, else 4096."""
    assert started("ollama run m", node).n_ctx == n_ctx


@pytest.mark.parametrize(
    ("line", "field", "value"),
    [
        ("OLLAMA_CONTEXT_LENGTH=8192 ollama run m", "n_ctx", 8192),
        ("OLLAMA_CONTEXT_LENGTH=8192 ollama run m num_ctx=2048", "n_ctx", 2048),
        ("OLLAMA_CONTEXT_LENGTH=8192 OLLAMA_NUM_PARALLEL=4 ollama run m", "n_ctx", 32768),
        ("OLLAMA_NUM_PARALLEL=4 ollama serve", "n_parallel", 4),
        ("OLLAMA_NUM_PARALLEL=4 ollama serve", "kv_unified", False),
        ("OLLAMA_KV_CACHE_TYPE=Q8_0 ollama serve", "type_v", "q8_0"),
        ("OLLAMA_FLASH_ATTENTION=1 ollama serve", "flash_attn", "on"),
        ("OLLAMA_FLASH_ATTENTION=false ollama serve", "flash_attn", "off"),
        ("ollama serve", "flash_attn", "auto"),
        ("OLLAMA_GPU_OVERHEAD=1073741824 ollama serve", "gpu_overhead_bytes", GIB),
        ("ollama run m num_gpu=0", "n_gpu_layers", 0),
        ("ollama run m num_gpu=999", "n_gpu_layers", 999),
        ("ollama run m num_batch=128", "n_ubatch", 128),
        ("ollama run m main_gpu=1", "split_mode", "none"),
        ("ollama run m", "load_mode", "none"),
        ("ollama run m use_mmap=true", "load_mode", "mmap"),
        ("ollama run m adapter=a.gguf", "lora", ("a.gguf",)),
        ("LLAMA_ARG_CACHE_RAM=1024 ollama serve", "cache_ram_mib", 1024),
        ("LLAMA_ARG_CTX_SIZE=9 ollama serve", "n_ctx", 4096),
        ("LLAMA_ARG_OVERRIDE_TENSOR=exps=CPU ollama serve", "override_tensors", (Override("exps", "CPU"),)),
        ("docker run -e OLLAMA_CONTEXT_LENGTH=1024 ollama/ollama:0.34.2", "n_ctx", 1024),
        ("docker run --entrypoint ollama ollama/ollama serve", "app", "ollama"),
    ],
)
def test_words_and_variables(line: str, field: str, value: object) -> None:
    assert getattr(started(line), field) == value


@pytest.mark.parametrize(
    ("line", "node", "n_batch"),
    [
        pytest.param("ollama run m num_ctx=4096", cards(80), 512, id="a short context"),
        pytest.param("ollama run m num_ctx=8192", cards(80), 1024, id="a longer one"),
        pytest.param("ollama run m num_ctx=40000", cards(80), 2048, id="a long one"),
        pytest.param("ollama run m num_ctx=40000", cards(24), 512, id="no room"),
        pytest.param("ollama run m num_ctx=40000", cards(32), 1024, id="room for the middle one"),
        pytest.param("ollama run m num_ctx=40000", NOWHERE, 2048, id="no card to overflow"),
        pytest.param("OLLAMA_FLASH_ATTENTION=0 ollama run m num_ctx=40000", cards(80), 512, id="without flash attention"),
        pytest.param("OLLAMA_FLASH_ATTENTION=0 ollama run m num_ctx=40000", cards(8), 256, id="on a small card"),
    ],
)
def test_the_batch_grows_with_the_context_while_there_is_room(line: str, node: Node, n_batch: int) -> None:
    """Source: ollama 0.34 server/sched.go, automaticGenerationBatch: 80 % of what is free, 60 % for 2048, 75 % for 1024."""
    found = started(line, node)
    assert (found.n_batch, found.n_ubatch) == (n_batch, n_batch)


def test_states_take_no_part_in_what_it_predicts() -> None:
    hybrid = kvplan.load_model("granite-4.0-h-tiny")
    parsed = ENGINE.parse(("ollama", "run", "m", "num_ctx=40000"), {}, "")
    assert ENGINE.resolve(parsed, LOAD, hybrid, cards(32), "0.34.2").n_batch == 2048


def test_unified_memory_is_read_past_the_page_cache() -> None:
    assert started("ollama run m", cards(96, vendor="amd", unified=True)).load_mode == "dio"
    assert started("ollama run m", cards(96, vendor="apple", unified=True)).load_mode == "mmap"


def test_a_draft_is_the_models_own() -> None:
    drafting = started("ollama run m draft_num_predict=4").drafting
    assert drafting is not None
    assert (drafting.is_mtp, drafting.n_max) == (True, 4)


def test_without_a_command_each_sequence_has_its_context() -> None:
    found = ENGINE.resolve(ENGINE.parse(("ollama",), {}, ""), LOAD, MODEL, NOWHERE, "0.34.2")
    assert (found.n_ctx, found.n_parallel, found.version) == (8192, 2, "b10969")
    assert ENGINE.limits(found) == (4096, 2)


def test_kv_types_apart_need_llama_cpps_own_variables() -> None:
    parsed = ENGINE.parse(("ollama",), {}, "")
    found = ENGINE.resolve(parsed._replace(flags=(Flag("kv-types", "q8_0/f16"),)), LOAD, MODEL, NOWHERE, "0.34.2")
    assert (found.type_k, found.type_v) == ("q8_0", "f16")
    assert "LLAMA_ARG_CACHE_TYPE_K=q8_0" in ENGINE.command(found)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("ollama pull m", "nothing in"),
        ("vllm serve m", "nothing in"),
        ("ollama run m num_ctx=lots", "expected a whole number"),
        ("OLLAMA_FLASH_ATTENTION=maybe ollama serve", "expected true or false"),
    ],
)
def test_what_it_does_not_take(line: str, message: str) -> None:
    with pytest.raises(RequestError, match=message):
        ENGINE.parse(line.split(), {}, "")


def test_what_is_left_aside() -> None:
    line = "OLLAMA_HOST=0.0.0.0 ollama run --verbose --keepalive 5m m temperature=0.5 num_ctxx=3 hello"
    parsed = ENGINE.parse(line.split(), {}, "")
    assert [flag.name for flag in parsed.ignored] == ["OLLAMA_HOST", "--verbose", "--keepalive", "prompt", "temperature"]
    assert [finding.rule for finding in parsed.findings] == ["KV210"]
    assert parsed.model == "m"


def test_releases() -> None:
    assert build_of("0.34.2") == build_of("v0.99.0-rc1") == "b10969"
    assert build_of("0.31.1") == "b10760"
    assert ENGINE.parse(["docker", "run", "ollama/ollama:0.34.2-rocm"], {}, "").version == "0.34.2"
    for version in ("0.12.0", "new"):
        with pytest.raises(RequestError, match="ollama"):
            build_of(version)


MODELFILE = '''# comment
FROM ./m.gguf
from ./projector.gguf
PARAMETER num_ctx 65536
parameter stop "<|end|>"
ADAPTER ./a.gguf
SYSTEM """
PARAMETER num_ctx 1
"""
'''


def test_a_modelfile() -> None:
    argv = ["OLLAMA_NUM_PARALLEL=2", "ollama", "create", "mine", "-f", "Modelfile.big"]
    assert ENGINE.text_file(argv) == "Modelfile.big"
    assert ENGINE.text_file(["ollama", "create", "mine"]) == "Modelfile"
    assert ENGINE.text_file(["ollama", "run", "mine"]) is None
    line = ENGINE.with_text(argv, MODELFILE)
    found = ENGINE.resolve(ENGINE.parse(line, {}, ""), LOAD, MODEL, NOWHERE, "0.34.2")
    assert (found.model, found.n_ctx, found.n_parallel, found.lora) == ("./m.gguf", 131072, 2, ("./a.gguf",))


@pytest.mark.parametrize("text", ["PARAMETER num_ctx 3", "FROM m\nPARAMETER num_ctx"])
def test_a_modelfile_that_is_none(text: str) -> None:
    with pytest.raises(RequestError, match="Modelfile"):
        modelfile.read(text)


WORDS = st.lists(
    st.sampled_from(
        [
            *("num_ctx=2048", "num_batch=64", "num_gpu=0", "num_gpu=7", "main_gpu=1", "use_mmap=true", "use_mmap=false"),
            *("draft_num_predict=2", "adapter=a.gguf", "num_thread=3"),
        ]
    ),
    max_size=4,
)
VARIABLES = st.lists(
    st.sampled_from(
        [
            *("OLLAMA_CONTEXT_LENGTH=8192", "OLLAMA_NUM_PARALLEL=3", "OLLAMA_KV_CACHE_TYPE=q4_0", "OLLAMA_FLASH_ATTENTION=0"),
            *("OLLAMA_GPU_OVERHEAD=4096", "LLAMA_ARG_CACHE_RAM=0", "LLAMA_ARG_FIT_TARGET=512", "LLAMA_ARG_SWA_FULL=1"),
            *("LLAMA_ARG_CPU_MOE=1", "LLAMA_ARG_OVERRIDE_TENSOR=exps=CPU", "LLAMA_ARG_TENSOR_SPLIT=1,2", "LLAMA_ARG_REPACK=0"),
            *("LLAMA_ARG_N_GPU_LAYERS=all", "LLAMA_ARG_KV_UNIFIED=1", "LLAMA_ARG_DEVICE=CUDA0", "LLAMA_ARG_MMPROJ=p.gguf"),
            *("LLAMA_ARG_CACHE_TYPE_K=bf16", "LLAMA_ARG_NO_HOST=1", "LLAMA_ARG_FIT=off", "LLAMA_ARG_NO_KV_OFFLOAD=1"),
        ]
    ),
    max_size=5,
)


@limits(max_examples=300)
@given(VARIABLES, WORDS, st.sampled_from([NOWHERE, cards(8), cards(24, 24), catalog.node("dgx-spark", n_gpus=1)]))
def test_the_command_of_settings_gives_them_back(variables: list[str], words: list[str], node: Node) -> None:
    found = ENGINE.resolve(ENGINE.parse((*variables, "ollama", "run", "m", *words), {}, ""), LOAD, MODEL, node, "0.34.2")
    again = ENGINE.parse(ENGINE.command(found), {}, "")
    assert ENGINE.resolve(again, LOAD, MODEL, node, "0.34.2") == found


def test_so_do_settings_without_a_command() -> None:
    found = ENGINE.resolve(Parsed("ollama", "0.34.2", None), LOAD, MODEL, cards(24), "0.34.2")
    again = ENGINE.parse(ENGINE.command(found), {}, "")
    assert ENGINE.resolve(again, LOAD, MODEL, cards(24), "0.34.2") == found


@pytest.mark.parametrize("said", ["hf.co/org/name:Q4_K_M", "huggingface.co/org/name:Q4_K_M", "https://hf.co/org/name:Q4_K_M"])
def test_a_repository_of_the_hub_has_its_host_before_it(said: str) -> None:
    found = ENGINE.parse(("ollama", "run", said), {}, "")
    assert found.model == "org/name:Q4_K_M"
    settings = ENGINE.resolve(found, LOAD, MODEL, NOWHERE, "0.34.2")
    assert "hf.co/org/name:Q4_K_M" in ENGINE.command(settings)


@pytest.mark.parametrize("said", ["./m.gguf", "models/m.gguf", "qwen3-8b"])
def test_files_and_names_have_no_host(said: str) -> None:
    assert said in ENGINE.command(started(f"ollama run {said}"))


@pytest.mark.parametrize("version", ["0.34.3", "9.9.9"])
def test_a_newer_release_is_said(version: str) -> None:
    assert [finding.rule for finding in ENGINE.parse(("ollama",), {}, version).findings] == ["KV330"]
    assert ENGINE.parse(("ollama",), {}, "0.34.2").findings == ()


def test_a_type_that_no_cache_has_is_refused() -> None:
    with pytest.raises(RequestError, match="expected a type of the cache"):
        started("OLLAMA_KV_CACHE_TYPE=q9 ollama serve")


def test_a_modelfile_may_have_tabs() -> None:
    assert modelfile.read("FROM\tx\n\n\tPARAMETER\tnum_ctx\t3").parameters == (("num_ctx", "3"),)
