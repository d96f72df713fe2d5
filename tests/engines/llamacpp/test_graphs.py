"""Graphs of every kind of layer: they can be laid out, grow with the tokens of a step, and go where their weights are."""

import pytest

import kvplan
from kvplan.core.device import Node
from kvplan.core.mixers import FullAttention, GatedDeltaNet, LinearAttention, Mamba1, Mamba2, Mixer, Mla, Rwkv, ShortConv, SlidingAttention
from kvplan.core.model import DenseFfn, Ffn, Layer, MoeFfn, WeightGroup
from kvplan.core.workload import Workload
from kvplan.engines.llamacpp.deployment import Deployment
from kvplan.engines.llamacpp.graphs.builder import Plan
from kvplan.engines.llamacpp.graphs.growing import Range
from kvplan.engines.llamacpp.graphs.memory import Arena, peaks
from kvplan.engines.llamacpp.graphs.model import Stage, graph_of
from kvplan.engines.llamacpp.graphs.nodes import HOST, Graph
from kvplan.engines.llamacpp.graphs.schedule import reserved
from kvplan.engines.llamacpp.settings import ALL_LAYERS, Drafting, Settings
from kvplan.estimator import Options, answer
from kvplan.hardware import catalog

FULL = FullAttention(8, 2, 64, 64)
PLAN = Plan(512, 64, 2, 64, True, {"full": (512, 1), "swa": (256, 1)}, "plain", "plain", {"full": 128, "swa": 128})  # noqa: FBT003
USUAL = ("attn_norm", "attn_q", "attn_k", "attn_v", "attn_output", "ffn_norm", "ffn_gate", "ffn_up", "ffn_down")
DENSE, PLAIN = DenseFfn(1024), DenseFfn(1024, gated=False)
MOE = MoeFfn(8, 2, 256, 256)
JOINT = (WeightGroup("attn_kv_a_mqa.weight", "attention", 96, 512), WeightGroup("attn_kv_b.weight", "attention", 1024, 64))
LATENT = Mla(8, 64, 32, 32, 64, 128)
CASES: list[tuple[str, Mixer | None, Ffn | None, tuple[str, ...]]] = [
    ("llama", FULL, DENSE, USUAL),
    ("llama", FULL, DENSE, (*USUAL, "attn_q.bias", "attn_q_norm", "attn_k_norm", "ffn_up.bias")),
    ("gemma3", SlidingAttention(8, 2, 64, 64, 128), DENSE, (*USUAL, "post_attention_norm", "post_ffw_norm")),
    ("olmo2", FULL, DENSE, (*USUAL[1:5], *USUAL[6:], "post_attention_norm", "post_ffw_norm")),
    ("falcon", FULL, PLAIN, ("attn_norm", "attn_norm.bias", "attn_qkv", "attn_output", "ffn_up", "ffn_down")),
    ("phi3", FULL, DENSE, ("attn_norm", "attn_qkv", "attn_output", "ffn_norm", "ffn_up", "ffn_down")),
    ("glm4moe", FULL, MOE, (*USUAL[:5], "post_attention_norm", "exp_probs_b.bias", "ffn_gate_shexp", "ffn_gate_inp_shexp")),
    ("gpt-oss", FULL, MoeFfn(8, 2, 256), (*USUAL, "ffn_up_exps.bias", "ffn_gate_inp.bias")),
    ("qwen3moe", FULL, MoeFfn(8, 1, 256), (*USUAL, "ffn_gate_up_exps")),
    ("nemotron_h_moe", FULL, MoeFfn(8, 2, 256, gated=False), USUAL),
    ("deepseek2", LATENT, DENSE, (*USUAL, "attn_q_a")),
    ("deepseek2", FullAttention(8, 8, 64, 64), DENSE, (*USUAL, "attn_kv_b")),
    ("mamba", Mamba1(1024, 16, 4, 32), None, ("attn_norm", "ssm_in", "ssm_conv1d.bias", "ssm_dt_norm")),
    ("mamba2", Mamba2(16, 64, 16, 2, 4), None, ("attn_norm", "ssm_in", "ssm_norm")),
    ("nemotron_h", None, PLAIN, ("attn_norm", "ffn_up", "ffn_down")),
    ("qwen3next", GatedDeltaNet(4, 8, 32, 32, 4), DENSE, USUAL),
    ("kimi-linear", GatedDeltaNet(4, 4, 32, 32, 4, per_channel=True), DENSE, USUAL),
    ("lfm2", ShortConv(512, 3), DENSE, USUAL),
    ("rwkv6", Rwkv(512, 8, 64), PLAIN, USUAL),
    ("minimax-01", LinearAttention(8, 64, 64), DENSE, USUAL),
]


def sized(plan: Plan, arch: str, stages: list[Stage], output: int = HOST, n_copies: int = 1) -> dict[int, int]:
    return reserved(graph_of(arch, plan, stages, output, 0), n_copies, Range(0))


def stage(mixer: Mixer | None, ffn: Ffn | None, names: tuple[str, ...], device: int = HOST) -> Stage:
    layer = Layer((mixer,) if mixer else (), (ffn,) if ffn else (), JOINT)
    return Stage(layer, frozenset(names), device, device, device)


@pytest.mark.parametrize(("arch", "mixer", "ffn", "names"), CASES)
@pytest.mark.parametrize("flash", [True, False])
def test_more_tokens_take_more(arch: str, mixer: Mixer | None, ffn: Ffn | None, names: tuple[str, ...], flash: bool) -> None:  # noqa: FBT001
    plan = PLAN._replace(flash_attn=flash)
    small = sized(plan, arch, [stage(mixer, ffn, names)] * 3)
    large = sized(plan._replace(n_tokens=128, n_outputs=128), arch, [stage(mixer, ffn, names)] * 3)
    assert set(small) == {HOST}
    assert 3 * 512 * 64 * 4 < small[HOST] < large[HOST] < 3 * small[HOST]


@pytest.mark.parametrize(("arch", "mixer", "ffn", "names"), CASES)
def test_layers_run_where_their_weights_are(arch: str, mixer: Mixer | None, ffn: Ffn | None, names: tuple[str, ...]) -> None:
    here, there = stage(mixer, ffn, names), stage(mixer, ffn, names, 0)
    both = sized(PLAN, arch, [here, here, there, there], 0)
    assert set(both) == {HOST, 0}
    apart = sized(PLAN, arch, [there, there, stage(mixer, ffn, names, 1)], 1, n_copies=4)
    assert set(apart) == {HOST, 0, 1}


def test_caches_in_other_types_take_copies_and_rotations() -> None:
    layers = [stage(FULL, DENSE, USUAL)] * 3
    plain = sized(PLAN, "llama", layers)[HOST]
    turned = sized(PLAN._replace(k_type="quantized", v_type="quantized"), "llama", layers)[HOST]
    assert plain < turned <= plain + 2 * 64 * 64 * 4
    assert sized(PLAN._replace(k_type="f32", v_type="f32"), "llama", layers)[HOST] >= plain


def test_what_stays_beside_the_stream_is_counted_once() -> None:
    layers = [stage(FULL, DENSE, USUAL)] * 3
    wide = PLAN._replace(per_layer=128, beside=256)
    assert sized(wide, "gemma4", layers)[HOST] - sized(PLAN, "gemma4", layers)[HOST] == 256 * 64 * 4
    on_device = [stage(FULL, DENSE, USUAL, 0)] * 3
    assert set(sized(wide, "gemma4", on_device, 0)) == {HOST, 0}


def test_logits_are_part_of_a_graph_where_they_are_asked_for() -> None:
    layers = [stage(FULL, DENSE, USUAL)]
    whole = reserved(graph_of("llama", PLAN, layers, HOST, 50_000), 1, Range(0))[HOST]
    assert whole > 50_000 * 64 * 4


def test_memory_is_handed_out_by_best_fit() -> None:
    arena = Arena(Range(0))
    first, second, third, _ = arena.take(64), arena.take(32), arena.take(96), arena.take(32)
    arena.give(first, 64)
    arena.give(third, 96)
    assert arena.take(64) == first
    assert arena.take(96) == third
    arena.give(second, 32)
    assert arena.take(64) == 224
    assert arena.peak == 288


@pytest.mark.parametrize(
    "name", ["gemma-3n-e4b", "deepseek-v4-flash", "glm-5", "kimi-linear-48b-a3b", "lfm2-1.2b", "whisper-large-v3", "minimax-m2"]
)
def test_models_that_are_no_gguf_files_run_too(name: str) -> None:
    model, node = kvplan.load_model(name), catalog.node("h100-sxm", n_gpus=2)
    load = Workload(4096, 1, 4095)
    for settings, where in (
        (Settings("b11434", name, n_ctx=4096), Node(None, None, ())),
        (Settings("b11434", name, n_ctx=4096, devices=(0, 1), n_gpu_layers=ALL_LAYERS, flash_attn="off"), node),
        (Settings("b11434", name, app="completion", n_ctx=4096, devices=(0,), n_gpu_layers=5, type_k="q8_0", swa_full=True), node),
    ):
        found = Deployment(model, settings, where)
        assert sum(entry.size.best for entry in found.entries(load)) > 0
        assert found.kv(load).ideal_bytes <= found.kv(load).reserved_bytes
        capacity = found.capacity(load)
        assert (capacity is None) == (not settings.devices)


def test_the_answer_shows_contexts_as_they_are_resolved() -> None:
    command = ("llama-server", "-m", "gemma-3-1b", "-c", "4000", "-np", "3", "--fit", "off", "--swa-full")
    found = answer(Options(command=command, engine="llama.cpp@b11434", gpu="rtx-4090"))
    shown = {name: found.settings[name] for name in ("n_ctx", "n_ctx_seq", "n_seq_max", "n_batch", "n_ubatch")}
    assert shown == {"n_ctx": 4608, "n_ctx_seq": 1536, "n_seq_max": 3, "n_batch": 2048, "n_ubatch": 512}
    assert found.verdict == "fits"
    assert found.phases.peak is None
    assert {place.place.id for place in found.places} == {"gpu0", "host"}


def test_states_go_back_where_the_architecture_can() -> None:
    model = kvplan.load_model("lfm2-1.2b")
    base = Settings("b11434", "", n_ctx=4096)
    once = Deployment(model, base, Node(None, None, ())).kv(Workload(4096, 1, 4095)).reserved_bytes
    drafted = base._replace(drafting=Drafting(("draft-mtp",), n_max=2))
    more = Deployment(model, drafted, Node(None, None, ())).kv(Workload(4096, 1, 4095))
    assert more.reserved_bytes - once == 2 * 4 * more.state_bytes_per_sequence


def test_a_file_that_is_read_maps_nothing() -> None:
    model, load = kvplan.load_model("llama-2-7b"), Workload(4096, 1, 4095)
    for mode, mapped in (("auto", True), ("none", False)):
        found = Deployment(model, Settings("b11434", "", n_ctx=512, load_mode=mode, n_cpu_moe=1), Node(None, None, ()))  # type: ignore[arg-type]
        lines = found.log_lines()
        assert any("CPU_Mapped" in line for line in lines) is mapped
        assert found.entries(load)


@pytest.mark.parametrize(("shift", "peak"), [(0, 64 * 4), (1, 2 * 64 * 4)])
def test_only_a_view_from_the_beginning_gives_its_memory_away(shift: int, peak: int) -> None:
    """Source: ggml 0.26 src/ggml-alloc.c, ggml_gallocr_allocate_node: view_src->data == parent->data."""
    graph = Graph()
    graph.expand(graph.over(graph.view(graph.op((64,)), 64, shift=shift)))
    for node in graph.nodes:
        node.device = HOST
    assert peaks(graph.nodes, (), Range(0)) == {HOST: peak}


def test_a_part_gives_nothing_away() -> None:
    graph = Graph()
    graph.expand(graph.over(graph.op((64,)), graph.view(graph.op((64,)), 32, whole=False)))
    graph.expand(graph.over(graph.view(graph.op((64,)), 64, whole=False)))
    for node in graph.nodes:
        node.device = HOST
    assert peaks(graph.nodes, (), Range(0))[HOST] >= 2 * 64 * 4
