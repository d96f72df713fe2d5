"""Caches, buffers of graphs and of weights, beside what llama.cpp b11434 itself reserved (no allocation, 2026-11-29)."""

import pytest

import kvplan
from kvplan.core.checkpoint import Checkpoint, Tensor
from kvplan.core.device import Node
from kvplan.core.model import ModelSpec
from kvplan.core.workload import Workload
from kvplan.engines.llamacpp.deployment import Deployment
from kvplan.engines.llamacpp.devices import CPU, layout
from kvplan.engines.llamacpp.fit import fitted
from kvplan.engines.llamacpp.laid import Laid
from kvplan.engines.llamacpp.placement import pieces, repacks, summed
from kvplan.engines.llamacpp.settings import Drafting, Override, Settings
from kvplan.hardware import catalog
from tests.gguf.making import tensor

NOWHERE = Node(None, None, ())
TWO = catalog.node("h100-sxm", n_gpus=2)
BASE = Settings("b11434", "", app="completion", n_parallel=1, kv_unified=False, fit=False, host="x86-avx512")
SERVED = BASE._replace(app="server", n_parallel=4, kv_unified=True)
LLAMA2, LLAMA3, MIXTRAL = (kvplan.load_model(name) for name in ("llama-2-7b", "llama-3-8b", "mixtral-8x7b"))


def laid(model: ModelSpec, settings: Settings, node: Node = NOWHERE) -> Laid:
    return Laid(model, settings, node)


@pytest.mark.parametrize(
    ("settings", "n_ctx", "n_ctx_seq"),
    [
        (BASE._replace(n_ctx=4096), 4096, 4096),
        (BASE._replace(n_ctx=4096, n_parallel=3), 4608, 1536),
        (BASE._replace(n_ctx=1000, n_parallel=8), 2048, 256),
        (SERVED._replace(n_ctx=5000), 5120, 5120),
        (BASE, 4096, 4096),
    ],
)
def test_contexts_are_padded_up(settings: Settings, n_ctx: int, n_ctx_seq: int) -> None:
    found = laid(LLAMA2, settings).context
    assert (found.n_ctx, found.n_ctx_seq) == (n_ctx, n_ctx_seq)


@pytest.mark.parametrize(
    ("model", "settings", "cached", "computed"),
    [
        (LLAMA2, BASE._replace(n_ctx=4096), 2147483648, 113790976),
        (LLAMA2, BASE._replace(n_ctx=8192), 4294967296, 124276736),
        (LLAMA2, BASE._replace(n_ctx=8192, flash_attn="off"), 4294967296, 620773376),
        (LLAMA2, SERVED._replace(n_ctx=8192), 4294967296, 117983264),
        (LLAMA2, SERVED._replace(n_ctx=32768, type_k="q8_0", type_v="q8_0"), 9126805504, 143231008),
        (LLAMA2, SERVED._replace(n_ctx=8192, kv_unified=False), 4294967296, 111691808),
        (LLAMA2, BASE._replace(n_ctx=8192, type_k="f32", type_v="f32"), 8589934592, 192958464),
        (LLAMA3, BASE._replace(n_ctx=32768), 4294967296, 346574848),
        (LLAMA3, BASE._replace(n_ctx=8192, flash_attn="off"), 1073741824, 608190464),
        (MIXTRAL, BASE._replace(n_ctx=4096), 536870912, 222318592),
        (MIXTRAL, BASE._replace(n_ctx=8192, type_k="q8_0"), 822083584, 226578432),
    ],
)
def test_caches_and_graphs_on_the_host(model: ModelSpec, settings: Settings, cached: int, computed: int) -> None:
    found = laid(model, settings)
    assert found.cache.n_bytes == cached
    assert found.compute.n_bytes[CPU] == pytest.approx(computed, rel=0.002)


ON_ONE = SERVED._replace(n_ctx=32768, devices=(0,), pinned_host=False, op_offload=False)


@pytest.mark.parametrize(
    ("settings", "host", "devices"),
    [  # in units of 4 bytes · 4096 · 512: what llama.cpp reserved beside a loopback device
        (ON_ONE._replace(n_gpu_layers=33), 8.002, (18.502,)),
        (ON_ONE._replace(n_gpu_layers=1), 19.502, (0.252,)),
        (ON_ONE._replace(n_gpu_layers=33, devices=(0, 1)), 26.009, (42.507, 37.505)),
        (BASE._replace(n_ctx=8192, devices=(0,), n_gpu_layers=33, flash_attn="off", pinned_host=False), 6.502, (71.501,)),
    ],
)
def test_graphs_on_devices(settings: Settings, host: float, devices: tuple[float, ...]) -> None:
    unit = 4 * 4096 * 512
    found = laid(LLAMA3, settings, TWO).compute.n_bytes
    assert found[CPU] / unit == pytest.approx(host, rel=0.03)
    assert [found[i] / unit for i in range(len(devices))] == pytest.approx(devices, rel=0.03)


@pytest.mark.parametrize(("n_layers", "on_device"), [(0, 0), (1, 0), (2, 1), (33, 32), (99, 32)])
def test_the_output_layer_goes_first(n_layers: int, on_device: int) -> None:
    settings = ON_ONE._replace(n_gpu_layers=n_layers)
    found = layout(settings, TWO, 32)
    assert sum(block == 0 for block in found.blocks) == on_device
    assert found.output == (0 if n_layers else CPU)


def test_older_builds_put_it_last() -> None:
    found = layout(ON_ONE._replace(n_gpu_layers=2, version="b7000"), TWO, 32)
    assert sum(block == 0 for block in found.blocks) == 2
    assert found.output == CPU


def test_devices_share_layers_by_memory_or_as_asked() -> None:
    even = layout(ON_ONE._replace(devices=(0, 1), n_gpu_layers=-1), TWO, 32)
    assert [sum(block == device for block in even.blocks) for device in (0, 1)] == [17, 15]
    asked = layout(ON_ONE._replace(devices=(0, 1), n_gpu_layers=-1, tensor_split=(3.0,)), TWO, 32)
    assert set(asked.blocks) == {0}
    alone = layout(ON_ONE._replace(devices=(1,), n_gpu_layers=-1, split_mode="none", main_gpu=1), TWO, 32)
    assert alone.names == ("CUDA1",)


SMALL = (
    tensor("token_embd.weight", (256, 64), "q4_K"),
    tensor("output_norm.weight", (256,)),
    tensor("rope_freqs.weight", (32,)),
    *(tensor(f"blk.{i}.attn_q.weight", (256, 256), "q4_K") for i in range(2)),
    *(tensor(f"blk.{i}.ffn_up_exps.weight", (256, 64, 4), "q4_K") for i in range(2)),
    tensor("blk.2.nextn.eh_proj.weight", (512, 256), "q8_0"),
)
Q, EXPERTS, TABLE = 256 * 144, 4 * 64 * 144, 64 * 144


def placed(settings: Settings, n_blocks: int = 3, skipped: int = 1) -> dict[str, int]:
    return summed(pieces(SMALL, settings, layout(settings, TWO, n_blocks), skipped))


def test_tied_tables_are_kept_twice_where_their_uses_lie_apart() -> None:
    on_host = placed(BASE)
    assert on_host == {"CPU": TABLE + 1024 + 128, "CPU_REPACK": 2 * Q + 2 * EXPERTS + TABLE}
    assert placed(BASE._replace(repack=False)) == {"CPU": TABLE + 1024 + 128 + 2 * Q + 2 * EXPERTS}
    everywhere = placed(ON_ONE._replace(n_gpu_layers=-1))
    assert everywhere == {"CPU": TABLE, "CUDA0": 1024 + 128 + 2 * Q + 2 * EXPERTS + TABLE}


def test_experts_stay_on_the_host_where_that_is_asked_for() -> None:
    all_of_them = placed(ON_ONE._replace(n_gpu_layers=-1, cpu_moe=True))
    assert all_of_them["CPU_REPACK"] == 2 * EXPERTS
    first = placed(ON_ONE._replace(n_gpu_layers=-1, n_cpu_moe=1))
    assert first["CPU_REPACK"] == EXPERTS
    said = placed(ON_ONE._replace(n_gpu_layers=-1, override_tensors=(Override(r"blk\.1\.ffn", "CPU"), Override("attn_q", "CUDA1"))))
    assert (said["CPU_REPACK"], said["CUDA1"]) == (EXPERTS, 2 * Q)
    dense = placed(ON_ONE._replace(n_gpu_layers=-1, n_cpu_ffn=2))
    assert "CPU_REPACK" not in dense


def test_all_buffers_of_a_place_are_read_by_its_steps() -> None:
    """On the host the table and the norms as they are, beside them everything else in the processor's layout."""
    table = Checkpoint("gguf", "headers", 1, 0, 0, (), SMALL[:-1])
    found = Deployment(LLAMA2._replace(checkpoint=table), BASE, NOWHERE).held()
    assert found.weights == (("host", TABLE + 1024 + 128 + 2 * Q + 2 * EXPERTS + TABLE),)


def test_pinned_memory_goes_before_repacking() -> None:
    pinned = ON_ONE._replace(n_gpu_layers=1, pinned_host=True)
    assert set(placed(pinned)) == {"CPU", "CUDA0"}
    assert set(placed(pinned._replace(load_mode="none"))) == {"CUDA_Host", "CUDA0"}


@pytest.mark.parametrize(
    ("kind", "isa", "expected"),
    [
        ("q4_K", "x86-avx2", True),
        ("q2_K", "x86-avx2", False),
        ("q2_K", "x86-avx512", True),
        ("q8_0", "x86-avx512", False),
        ("q8_0", "arm64", True),
    ],
)
def test_processors_want_other_layouts(kind: str, isa: str, expected: bool) -> None:  # noqa: FBT001
    assert repacks(tensor("blk.0.attn_q.weight", (256, 64), kind), isa) is expected  # type: ignore[arg-type]
    assert not repacks(tensor("blk.0.attn_q.weight", (256, 63), kind), isa)  # type: ignore[arg-type]
    assert not repacks(tensor("blk.0.attn_k_b.weight", (256, 64, 8), kind), isa)  # type: ignore[arg-type]


def test_a_files_own_table_is_what_is_loaded() -> None:
    table = Checkpoint("gguf", "headers", 1, 0, 0, (), (*SMALL[:4], Tensor("output.weight", "q6_k", (256, 64), 64 * 210)))
    found = laid(LLAMA2._replace(checkpoint=table), BASE).weights
    assert found.buffers == {"CPU": TABLE + 1024 + 128 + 64 * 210, "CPU_REPACK": Q}
    assert found.mapped_bytes == TABLE + 1024 + 128 + Q + 64 * 210


def test_a_file_of_which_the_host_keeps_nothing_is_not_mapped() -> None:
    table = Checkpoint("gguf", "headers", 1, 0, 0, (), SMALL[:4])
    everywhere = BASE._replace(devices=(0,), override_tensors=(Override(".", "CUDA0"),))
    found = laid(LLAMA2._replace(checkpoint=table), everywhere, TWO).weights
    assert found.mapped_bytes == 0
    assert found.buffers == {"CUDA0": TABLE + 1024 + 128 + Q}


def test_fit_shrinks_a_context_that_nobody_named() -> None:
    long = LLAMA3._replace(max_ctx_tokens=131072)
    card = catalog.node("rtx-4090", n_gpus=1)
    asked = SERVED._replace(n_ctx=0, devices=(0,), n_gpu_layers=-1, fit=True)
    found = fitted(long, asked, card)
    assert 4096 < found.n_ctx < 131072
    assert found.n_ctx % 256 == 0
    assert fitted(long, asked._replace(fit=False), card).n_ctx == 0
    assert fitted(long, asked._replace(n_ctx=9000), card).n_ctx == 9000
    assert fitted(long, asked, catalog.node("h200", n_gpus=1)).n_ctx == 0
    assert fitted(long, asked, catalog.node("t4", n_gpus=1)).n_ctx == 4096


@pytest.mark.parametrize("drafting", [Drafting(("draft-mtp",)), Drafting(("draft-simple",), model="d.gguf")])
def test_what_drafts_has_a_cache_of_its_own(drafting: Drafting) -> None:
    model = LLAMA3._replace(draft=LLAMA2, mtp=LLAMA3.runs[:1])
    found = Deployment(model, SERVED._replace(n_ctx=4096, drafting=drafting), NOWHERE)
    load = Workload(4096, 1, 4095)
    entries = [entry for entry in found.entries(load) if entry.term == "draft_model"]
    assert any("KV cache" in entry.name for entry in entries)
    assert any("compute buffer" in entry.name for entry in entries)
    assert found.need_bytes("gpu0", load).high == 0


def test_the_log_says_each_buffer() -> None:
    found = Deployment(LLAMA2, SERVED._replace(n_ctx=8192, load_mode="none", repack=False), NOWHERE).log_lines()
    assert "llama_kv_cache:        CPU KV buffer size =  4096.00 MiB" in found
    assert any(line.startswith("sched_reserve:        CPU compute buffer size =") for line in found)
    assert Deployment(LLAMA2, SERVED._replace(type_v="q8_0", flash_attn="off"), NOWHERE).log_lines() == ()


def test_what_files_beside_the_model_take_is_not_modeled() -> None:
    settings = SERVED._replace(devices=(0,), lora=("a",), mmproj="p", drafting=Drafting(("draft-simple",), model="d"))
    found = {one.id for one in Deployment(LLAMA2, settings, TWO).not_modeled}
    assert found == {"lora", "projector", "draft_model", "pools"}
