"""From flags to settings: llama.cpp's defaults, by build and machine."""

from itertools import pairwise

import pytest

from kvplan.core.engine import Flag
from kvplan.core.errors import RequestError
from kvplan.engines.llamacpp.engine import ENGINE
from kvplan.engines.llamacpp.resolve import KV_TYPES, resolve
from kvplan.engines.llamacpp.rules import RULES, build_number, rules_for
from kvplan.engines.llamacpp.settings import ALL_LAYERS, AUTO_LAYERS, Drafting, Override
from tests.engines.llamacpp.resolving import LLAMA, LOAD, NEWEST, NOWHERE, cards, parsed, settled


@pytest.mark.parametrize(
    ("line", "version", "n_parallel", "unified"),
    [
        pytest.param("llama-server -m x", "b11434", 4, True, id="auto: facts §6"),
        pytest.param("llama-server -m x -np -1", "b11434", 4, True, id="auto said"),
        pytest.param("llama-server -m x -np 4", "b11434", 4, False, id="said: each its own"),
        pytest.param("llama-server -m x -np 8 -kvu", "b11434", 8, True, id="shared"),
        pytest.param("llama-server -m x -np 1", "b11434", 1, False, id="one"),
        pytest.param("llama-server -m x -np 1", "b7079", 4, True, id="one was taken for unsaid: issue 17300"),
        pytest.param("llama-server -m x -np 2", "b7079", 2, False, id="two was not"),
        pytest.param("llama-server -m x", "b6868", 1, False, id="before slots shared"),
        pytest.param("llama-cli -m x", "b11434", 1, False, id="llama-cli"),
        pytest.param("llama-completion -m x -np 3", "b11434", 3, False, id="llama-completion"),
    ],
)
def test_slots(line: str, version: str, n_parallel: int, *, unified: bool) -> None:
    found = settled(line, version)
    assert (found.n_parallel, found.kv_unified) == (n_parallel, unified)


@pytest.mark.parametrize(
    ("line", "version", "n_ctx"),
    [
        ("-c 8192", "b11434", 8192),
        ("", "b11434", 0),
        ("-c 0", "b11434", 131072),  # the trained context by its number: --fit leaves it alone
        ("-c 0", "b7539", 0),  # issue 18376: --fit shrank it
        ("", "b6325", 4096),
        ("-c 0", "b6325", 0),
        ("-np 3 --kv-unified-per-slot 1000", "b11434", 3000),
        ("-c 5 -np 3 --kv-unified-per-slot 1000", "b11434", 5),
    ],
)
def test_contexts(line: str, version: str, n_ctx: int) -> None:
    assert settled(f"llama-server -m x {line}", version).n_ctx == n_ctx


@pytest.mark.parametrize(
    ("line", "version", "mode"),
    [
        ("", "b11434", "auto"),
        ("", "b10884", "mmap"),
        ("-lm none", "b11434", "none"),
        ("--no-mmap", "b11434", "none"),
        ("--mlock", "b11434", "mlock"),
        ("--direct-io", "b11434", "dio"),
        ("--mlock -ndio", "b11434", "mlock"),
        ("--no-mmap --mlock", "b10236", "mlock"),
        ("--mlock --no-mmap", "b10236", "none"),
        ("--no-mmap --mlock", "b9849", "mlock"),
        ("--mlock --no-mmap", "b9849", "mlock"),
        ("--mlock", "b9849", "mmap+mlock"),
        ("--no-mmap", "b9849", "none"),
        ("", "b9849", "mmap"),
    ],
)
def test_how_the_file_is_loaded(line: str, version: str, mode: str) -> None:
    """Source: llama.cpp PR 20834 and 26133: switches, then the last of them decides."""
    assert settled(f"llama-server -m x {line}", version).load_mode == mode


@pytest.mark.parametrize(
    ("line", "n_gpus", "devices"),
    [
        ("", 2, (0, 1)),
        ("", 0, ()),
        ("-dev none", 2, ()),
        ("-dev CUDA1", 2, (1,)),
        ("-dev Vulkan1,Vulkan0", 2, (1, 0)),
        ("-dev Metal", 1, (0,)),
        ("-dev CUDA5", 2, ()),
        ("-sm none", 2, (0,)),
        ("-sm none -mg 1", 2, (1,)),
        ("-sm none -mg -1", 2, ()),
        ("-mg 1", 2, (0, 1)),
    ],
)
def test_devices(line: str, n_gpus: int, devices: tuple[int, ...]) -> None:
    node = cards("rtx-3090", n_gpus) if n_gpus else NOWHERE
    assert settled(f"llama-server -m x {line}", node=node).devices == devices


@pytest.mark.parametrize(
    ("line", "field", "value"),
    [
        ("-ngl all", "n_gpu_layers", ALL_LAYERS),
        ("", "n_gpu_layers", AUTO_LAYERS),
        ("-ngl 3", "n_gpu_layers", 3),
        ("-b 100 -ub 50", "n_ubatch", 50),
        ("-b 2048 -ub 512 --embeddings", "n_batch", 512),
        ("--rerank", "embeddings", True),
        ("-ts 3,1", "tensor_split", (3.0, 1.0)),
        ("-ot a=CPU,b=CUDA0 -ot c=CPU", "override_tensors", (Override("a", "CPU"), Override("b", "CUDA0"), Override("c", "CPU"))),
        ("--lora a,b --lora-scaled c:0.5,d", "lora", ("a", "b", "c", "d")),
        ("--mmproj p", "mmproj", "p"),
        ("-mmu u", "mmproj", "u"),
        ("-mmu u --no-mmproj", "mmproj", None),
        ("--fit off", "fit", False),
        ("-fitt 1,2 -fitc 3", "fit_target_mib", (1, 2)),
        ("--no-host", "pinned_host", False),
        ("--spec-type ngram-mod", "drafting", None),
        ("--spec-type draft-mtp,ngram-mod", "drafting", Drafting(("draft-mtp",))),
        ("-md d --spec-draft-n-max 5 -ctkd q8_0 -ngld all", "drafting", Drafting(("draft-simple",), 5, "d", "q8_0", "f16", ALL_LAYERS)),
        ("", "cache_ram_mib", 8192),
        ("-cram -1", "cache_ram_mib", -1),
        ("", "ctx_checkpoints", 32),
        ("--slot-save-path /s", "slot_save_path", "/s"),
    ],
)
def test_settings(line: str, field: str, value: object) -> None:
    assert getattr(settled(f"llama-server -m x {line}"), field) == value


def test_the_kind_of_drafting() -> None:
    mtp, simple = Drafting(("draft-mtp",)), Drafting(("draft-simple",))
    assert (mtp.is_mtp, simple.is_mtp) == (True, False)
    assert settled("llama-server -m x --draft-max 7 -md d", "b9459").drafting == Drafting(("draft-simple",), 7, "d")


def test_only_servers_keep_prompts() -> None:
    found = settled("llama-completion -m x")
    assert (found.cache_ram_mib, found.ctx_checkpoints) == (0, 0)


@pytest.mark.parametrize(
    ("asked", "types"),
    [
        ("q8_0", ("q8_0", "q8_0")),
        ("q8_0/f16", ("q8_0", "f16")),
        ("float16", ("f16", "f16")),
        ("auto", ("f16", "f16")),
        ("BF16", ("bf16", "bf16")),
    ],
)
def test_cache_types_of_kvplans_option(asked: str, types: tuple[str, str]) -> None:
    found = resolve(parsed("llama.cpp")._replace(flags=(Flag(KV_TYPES, asked),)), LOAD, LLAMA, NOWHERE, NEWEST)
    assert (found.type_k, found.type_v) == types


@pytest.mark.parametrize("asked", ["q6_k", "fp8", "f16/q8_0/f16"])
def test_cache_types_that_it_keeps_not(asked: str) -> None:
    with pytest.raises(RequestError, match="keeps no such cache"):
        resolve(parsed("llama.cpp")._replace(flags=(Flag(KV_TYPES, asked),)), LOAD, LLAMA, NOWHERE, NEWEST)


def test_a_context_below_zero_is_no_request() -> None:
    with pytest.raises(RequestError, match="4294967295"):
        settled("llama-server -m x -c -1")


def test_without_a_command_each_sequence_has_a_slot() -> None:
    found = resolve(parsed("llama.cpp"), LOAD, LLAMA, NOWHERE._replace(isa="arm64"), NEWEST)
    assert (found.n_ctx, found.n_parallel, found.kv_unified, found.host, found.version) == (8192, 2, False, "arm64", "b11434")
    assert found.model == LLAMA.id


def test_builds() -> None:
    assert build_number("11434") == build_number("b11434") == build_number("b11434-cuda")
    assert rules_for("b99999") == (RULES[-1], True)
    assert rules_for("b11000")[0].since == 10884
    changes = [rules._replace(since=0, source="") for rules in RULES]
    assert all(older != newer for older, newer in pairwise(changes))
    assert list(RULES) == sorted(RULES, key=lambda rules: rules.since)
    for wrong, message in (("b5000", "older"), ("1.2.3", "no build"), ("new", "no build")):
        with pytest.raises(RequestError, match=message):
            rules_for(wrong)


@pytest.mark.parametrize(
    ("line", "limits"),
    [
        ("llama-server -m x -c 8192", (8192, 4)),
        ("llama-server -m x -c 4096 -np 3", (1536, 3)),
        ("llama-server -m x", (None, 4)),
        ("llama-server -m x -np 2", (None, 2)),
    ],
)
def test_limits(line: str, limits: tuple[int | None, int]) -> None:
    assert ENGINE.limits(settled(line)) == limits


def test_the_engine_behind_the_seam() -> None:
    found = ENGINE.resolve(ENGINE.parse(("llama-server", "-m", "x", "-c", "9"), {}, ""), LOAD, LLAMA, NOWHERE, NEWEST)
    assert ENGINE.command(found) == ("llama-server", "-m", "x", "-c", "9")
    assert ENGINE.shown(found)["n_ctx"] == 9
    assert "version" not in ENGINE.shown(found)
