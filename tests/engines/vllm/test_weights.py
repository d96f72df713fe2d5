"""Weights of a rank beyond what the golden plans hold: widths that replicate, types on the way, copies, adapters."""

import pytest

import kvplan
from kvplan.core.model import Layer, LayerRun, WeightGroup
from kvplan.core.sharding import Sharding, group_bytes
from kvplan.engines.vllm import loaded
from kvplan.engines.vllm.rules import engine_rules
from kvplan.engines.vllm.settings import Lora
from kvplan.engines.vllm.weighed import _known, weighed
from kvplan.engines.vllm.weights import by_stage, rope_bytes
from tests.engines.vllm.resolving import LLAMA, MIXTRAL, settled

NOW = engine_rules("0.33.0")
HOPPER, AMPERE, BLACKWELL = (9, 0), (8, 0), (10, 0)
TWO = Sharding(2, 2, "bfloat16", kv_heads=1)


@pytest.mark.parametrize(
    ("group", "n_bytes"),
    [
        pytest.param(WeightGroup("w", "embedding", 100, 8, shard="vocab"), 64 * 8 * 2, id="vocabulary padded to 64, then split"),
        pytest.param(WeightGroup("w", "mlp", 100, 8, shard="column"), 50 * 8 * 2, id="column"),
        pytest.param(WeightGroup("w", "mlp", 8, 100, shard="row"), 8 * 50 * 2, id="row"),
        pytest.param(WeightGroup("w", "mlp", 8, 1, shard="row"), 8 * 2, id="a vector under a row split"),
        pytest.param(WeightGroup("w", "attention", 64, 8, shard="kv"), 64 * 8 * 2, id="one head, twice"),
        pytest.param(WeightGroup("w", "expert", 8, 8, 4, shard="expert"), 8 * 8 * 2 * 2, id="experts"),
        pytest.param(WeightGroup("w", "norm", 8), 16, id="whole"),
        pytest.param(WeightGroup("w", "lm_head", 8, 8, shard="vocab", tied_to="e"), 0, id="tied"),
    ],
)
def test_bytes_of_a_group_on_one_of_two_ranks(group: WeightGroup, n_bytes: int) -> None:
    assert group_bytes(group, TWO) == n_bytes


def test_experts_are_spread_whole_where_asked() -> None:
    settings = settled("-tp 2 -dp 4 --enable-expert-parallel", model=MIXTRAL)
    spread, sharded = (by_stage(MIXTRAL, settings._replace(expert_parallel=on), HOPPER)[0] for on in (True, False))
    experts = sum(group.n_bytes("bfloat16") for group in MIXTRAL.groups() if group.shard == "expert")
    assert sharded - spread == experts // 2 - experts // 8


@pytest.mark.parametrize(
    ("capability", "n_bytes"),
    [
        # 2880 · 2880 as they are, as 3072 · 2944, as 2944 · 2944
        pytest.param(HOPPER, 10_152_345_600, id="Triton"),
        pytest.param(AMPERE, 11_069_816_832, id="Marlin"),
        pytest.param(BLACKWELL, 10_608_574_464, id="CUTLASS"),
    ],
)
def test_mxfp4_experts_are_padded_for_the_kernel(capability: tuple[int, int], n_bytes: int) -> None:
    model = kvplan.load_model("gpt-oss-20b")
    how = Sharding(1, 1, "bfloat16", 8, 2880, 2880, {HOPPER: (1, 64), AMPERE: (256, 128), BLACKWELL: (128, 128)}[capability])
    groups = [group for group in model.groups() if group.shard == "expert" and not group.name.endswith("bias")]
    assert sum(group_bytes(group, how) for group in groups) == pytest.approx(n_bytes, rel=1e-6)
    plain = by_stage(model, settled(model=model), HOPPER)[0]
    assert by_stage(model, settled(model=model), capability)[0] - plain == pytest.approx(n_bytes - 10_152_345_600, rel=0.01)


@pytest.mark.parametrize(
    ("model", "n_bytes"),
    [
        # positions · rotary width · bytes of the type
        pytest.param("llama-3.1-8b", 131072 * 128 * 2, id="llama3"),
        pytest.param("gemma-3-27b", (131072 + 8 * 131072) * 128 * 2, id="stretched, and not where there are windows"),
        pytest.param("gpt-oss-20b", 131072 * 64 * 4, id="yarn in float32"),
        pytest.param("phi-3-mini-128k", (131072 + 4096) * 96 * 2, id="longrope's two"),
        pytest.param("opt-125m", 0, id="learned positions"),
    ],
)
def test_rotary_tables(model: str, n_bytes: int) -> None:
    spec = kvplan.load_model(model)
    assert rope_bytes(spec, settled(model=spec)) == n_bytes


def test_quantizing_on_load_shrinks_linear_layers_and_needs_room_for_both() -> None:
    plain, eight, four = (weighed(LLAMA, settled()._replace(quantization=name), NOW, HOPPER) for name in (None, "fp8", "bitsandbytes"))
    assert plain.weights[0].best == eight.built_bytes == four.built_bytes
    linear = sum(group.n_params for group in LLAMA.groups() if group.is_linear)
    assert plain.weights[0].best - eight.weights[0].best == linear
    assert plain.weights[0].best - four.weights[0].best == pytest.approx(linear * 2 * (1 - 9 / 32), rel=1e-6)
    assert loaded.quantized_on_load(kvplan.load_model("deepseek-v3"), settled("--quantization fp8")) is None


def test_copies_of_latents_and_swizzled_experts() -> None:
    deepseek = kvplan.load_model("deepseek-v3")
    (found,) = loaded.copies(deepseek, settled("-tp 8", model=deepseek), NOW)
    assert found.low == found.high == 61 * 16 * (128 + 128) * 512 * 2  # 0.24 GiB at TP8
    lite = kvplan.load_model("deepseek-v2-lite")
    assert loaded.copies(lite, settled(model=lite), NOW)[0].high == 0  # views of what is not quantized
    oss = kvplan.load_model("gpt-oss-20b")
    assert loaded.copies(oss, settled(model=oss), NOW)[0].best == 0
    assert loaded.copies(oss, settled(model=oss), engine_rules("0.19.0"))[0].best > 0


def test_adapters() -> None:
    groups = (
        WeightGroup("up", "mlp", 50, 100, shard="column"),
        WeightGroup("down", "mlp", 40, 100, shard="row"),
        WeightGroup("norm", "norm", 100),
    )
    model = LLAMA._replace(runs=(LayerRun(1, Layer((), (), groups)),))
    settings = settled()._replace(tp=2, lora=Lora(max_loras=3, max_rank=8))
    assert loaded.adapters(model, settings) == 3 * 8 * (100 + 25 + 50 + 40) * 2  # A of up whole, B halved; of down the reverse
    fully = settings._replace(lora=Lora(max_loras=3, max_rank=8, fully_sharded=True))
    assert loaded.adapters(model, fully) == 3 * 8 * (50 + 25 + 50 + 20) * 2
    replicated = LLAMA._replace(runs=(LayerRun(1, Layer((), (), (WeightGroup("a", "attention", 10, 20),))),))
    assert loaded.adapters(replicated, settings) == 3 * 8 * 30 * 2
    assert loaded.adapters(model, settings._replace(lora=None)) == 0


def test_offloaded_weights_leave_the_card() -> None:
    here, less = (weighed(LLAMA, settled(flags), NOW, HOPPER).weights[0].best for flags in ("", "--cpu-offload-gb 2"))
    assert here - less == 2 * 2**30


def test_few_models_are_remembered() -> None:
    for i in range(300):
        weighed(LLAMA._replace(id=str(i)), settled(), NOW, HOPPER)
    assert len(_known) <= 256
