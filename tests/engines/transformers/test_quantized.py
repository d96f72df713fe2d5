"""Quantized weights: what their layers unpack, what loading holds, GPUs too old for their kernels."""

import pytest

from kvplan.core.ledger import Interval
from kvplan.core.model import ModelSpec
from kvplan.core.workload import Workload
from kvplan.engines.transformers import loading, unpacked
from kvplan.engines.transformers.rules import rules_for
from kvplan.specs.paper import requantized
from tests.engines.transformers.running import LATENT, MIXTURE, SMALL, by_term, deployment, gpu, model
from tests.specs.quantized import small

LOAD = Workload(40, 2, 30)
TOKENS = 60
AWQ = {"quant_method": "awq", "bits": 4, "group_size": 64}
EIGHT = {"quant_method": "bitsandbytes", "load_in_8bit": True}
FOUR = {"quant_method": "bitsandbytes", "load_in_4bit": True}
FP8 = {"quant_method": "fp8", "weight_block_size": [128, 128]}
LARGEST = 2 * 512 * 256  # of the projections in bfloat16


@pytest.mark.parametrize(
    ("quantization", "size"),
    [
        # bitsandbytes 0.50.2: 4 bits are unpacked into a whole weight; 8 bits take inputs in fp16 and int8, products in int32
        pytest.param(FOUR, Interval(0, LARGEST, LARGEST), id="4 bits"),
        pytest.param(EIGHT, Interval(0, TOKENS * (512 * 3 + 512 * 4), TOKENS * (512 * 3 + 512 * 4)), id="8 bits"),
        pytest.param(AWQ, Interval(0, 0, LARGEST), id="kernels of GPTQModel"),
        pytest.param(FP8, Interval(0, TOKENS * 512, TOKENS * 512), id="inputs in fp8"),
        pytest.param({"quant_method": "hqq", "quant_config": {"weight_quant_params": {"nbits": 4, "group_size": 64}}}, None, id="unknown"),
    ],
)
def test_what_layers_unpack(quantization: dict[str, object], size: Interval | None) -> None:
    spec = small(quantization)
    found = [entry for entry in deployment(spec, node=gpu((9, 0))).entries(LOAD) if entry.name == "unpacked weights"]
    assert [entry.size for entry in found] == [size or Interval(0, LARGEST, 2 * LARGEST)]
    assert all(entry.source and entry.basis == "modeled" for entry in found)


def test_what_is_unpacked_counts_in_phases_and_need() -> None:
    quantized, plain = deployment(small(FOUR), node=gpu()), deployment(small(FOUR)._replace(quantization=None), node=gpu())
    assert (quantized.phases(LOAD).prefill_peak_bytes or 0) - (plain.phases(LOAD).prefill_peak_bytes or 0) == LARGEST
    needs = [found.need_bytes("gpu0", LOAD).high - by_term(found.entries(LOAD))["allocator"].size.high for found in (quantized, plain)]
    assert needs[0] - needs[1] == LARGEST


def test_plain_models_unpack_nothing() -> None:
    assert unpacked.is_nothing(unpacked.unpacked(model(), 2))
    assert unpacked.is_nothing(unpacked.unpacked(model()._replace(quantization="awq"), 2))
    assert len([entry for entry in deployment(model()).entries(LOAD) if entry.term == "activations"]) == 1


@pytest.mark.parametrize(
    ("spec", "version", "beside"),
    [
        pytest.param(model(), "5.24.0", 0, id="nothing to put together"),
        pytest.param(model(MIXTURE), "5.24.0", 2 * 2 * 8 * 64 * 96, id="gate and up projections of one layer"),
        pytest.param(model(LATENT), "5.24.0", 2 * 2 * 8 * 64 * 32, id="of the layers with experts"),
        pytest.param(model(MIXTURE), "4.57.0", 0, id="before 5.0 experts stay apart"),
        pytest.param(requantized(model(), "nf4"), "5.24.0", 2 * 176 * 64, id="quantized on the way"),
    ],
)
def test_load_peak(spec: ModelSpec, version: str, beside: int) -> None:
    deployed = deployment(spec, version=version)
    held = by_term(deployed.entries(LOAD))["weights"].size.best
    assert deployed.phases(LOAD).load_peak_bytes == held + beside


def test_files_with_fused_experts_need_no_room_to_merge_them() -> None:
    spec = model(MIXTURE)
    spec = spec._replace(form=spec.form._replace(merges_experts=False))
    assert loading.peak(spec, 1000, "bfloat16", rules_for("5.24.0")[0]) == 1000


@pytest.mark.parametrize(
    ("capability", "unpacks"),
    [pytest.param((8, 0), True, id="A100"), pytest.param((8, 9), False, id="L4"), pytest.param(None, False, id="unknown")],
)
def test_fp8_needs_a_gpu_with_its_kernels(capability: tuple[int, int] | None, unpacks: bool) -> None:  # noqa: FBT001 - part of the case
    # transformers 5.24 quantizers/quantizer_finegrained_fp8.py, validate_environment
    spec = small(FP8)
    deployed = deployment(spec, node=gpu(capability))
    weights = by_term(deployed.entries(LOAD))["weights"].size.best
    assert weights == (2 * spec.n_params if unpacks else spec.weight_bytes)
    assert ("KV315" in [finding.rule for finding in deployed.findings]) == unpacks


def test_fp8_on_paper_is_another_format() -> None:
    assert not loading.unpacks(requantized(model(SMALL), "fp8"), (8, 0))
