"""The ledger: entries that sum, intervals, findings and the engine's own refusals."""

import pytest

from kvplan.core.device import UNKNOWN_NODE, Node
from kvplan.core.ledger import ZERO, Interval, total
from kvplan.core.workload import Workload
from tests.engines.transformers.running import LATENT, MIXTURE, by_term, deployment, gpu, model

LOAD = Workload(40, 2, 30)


def test_without_a_gpu_only_tensors_are_counted() -> None:
    assert by_term(deployment(model()).entries(LOAD)).keys() == {"weights", "kv_cache", "activations"}


def test_on_a_gpu_the_process_is_counted() -> None:
    found = by_term(deployment(model(), node=gpu()).entries(LOAD))
    assert found.keys() == {"weights", "kv_cache", "activations", "workspace", "runtime_context", "allocator"}
    assert all(entry.place == "gpu0" and entry.source for entry in found.values())
    assert all(entry.size.low <= entry.size.best <= entry.size.high for entry in found.values())
    assert {found[term].basis for term in ("weights", "kv_cache")} == {"exact"}


def test_weights() -> None:
    spec = model()
    entry = by_term(deployment(spec).entries(LOAD))["weights"]
    assert entry.size == Interval(*[2 * spec.n_params] * 3)
    assert by_term(deployment(spec, dtype="float32").entries(LOAD))["weights"].size.best == 4 * spec.n_params
    unusual = by_term(deployment(spec._replace(stored_dtype="float8_e5m2")).entries(LOAD))["weights"]
    assert (unusual.size.best, unusual.basis) == (spec.n_params, "modeled")


def test_weights_of_another_type_are_said_where_there_are_some() -> None:
    routed = by_term(deployment(model(LATENT)).entries(LOAD))["weights"]
    assert routed.formula == "{n_params} parameters: {bfloat16} B as bfloat16 + {float32} B as float32"
    assert sum(int(size) for name, size in routed.inputs.items() if name != "n_params") == routed.size.best
    assert by_term(deployment(model()).entries(LOAD))["weights"].formula == "{n_params} parameters as {dtype}"


def test_routers_stay_in_float32_since_5_24() -> None:
    # transformers 5.24 models/deepseek_v3, _keep_in_fp32_modules_strict: gate.weight and e_score_correction_bias
    spec = model(LATENT)
    newest = by_term(deployment(spec).entries(LOAD))["weights"]
    before = by_term(deployment(spec, version="5.23.0").entries(LOAD))["weights"]
    assert newest.size.best == 2 * spec.n_params + 2 * (2 * 8 * 64 + 4 * 8)
    assert (newest.basis, before.basis) == ("exact", "modeled")
    assert before.size == Interval(newest.size.best - 2 * 2 * 8 * 64, newest.size.best, newest.size.best)


def test_activations_of_the_prefill_by_hand() -> None:
    # (4H + 3I) · 2 B for each token, its id, its position, cos and sin of 16; the cache grows from 30 to 40 tokens
    deployed = deployment(model(num_attention_heads=1, num_key_value_heads=1, head_dim=16))
    load = Workload(2000, 2, 1000)
    prefill = 2000 * (2 * (4 * 64 + 3 * 176) + 8) + 1000 * (8 + 2 * 16 * 2) + 2 * 3 * 64 * 1000
    phases = deployed.phases(load)
    assert phases.prefill_peak_bytes == (phases.load_peak_bytes or 0) + prefill


def test_decoding_copies_the_experts_of_each_token() -> None:
    # transformers 5.24 integrations/moe.py, batched_mm: 2 tokens · 2 experts · 3 · 64 · 96 · 2 B; a plain forward doesn't
    load = Workload(40, 2, 2)
    copies = 2 * 2 * 3 * 64 * 96 * 2
    with_copies, without = deployment(model(MIXTURE)).phases(load), deployment(model(MIXTURE), forward="plain").phases(load)
    assert copies < (with_copies.decode_peak_bytes or 0) - (without.decode_peak_bytes or 0) + 40_000


def test_a_plain_forward_returns_all_logits() -> None:
    spec = model(vocab_size=5_000)
    found = by_term(deployment(spec, forward="plain").entries(LOAD))
    assert found["logits"].size.best == 2 * 30 * 5_000 * 2
    assert "logits" not in by_term(deployment(spec).entries(LOAD))
    assert "logits" not in by_term(deployment(model(vocab_size=10), forward="plain").entries(LOAD))


def test_without_decode_steps_there_is_no_decode_phase() -> None:
    phases = deployment(model()).phases(Workload(40, 2, 40))
    assert phases.decode_peak_bytes is None
    assert phases.peak == "prefill"


@pytest.mark.parametrize("steps", [0, 1, 5])
def test_need_is_the_sum_without_a_gpu_too(steps: int) -> None:
    load = Workload(6, 2, 6 - steps)
    deployed = deployment(model(MIXTURE))
    assert deployed.need_bytes("gpu0", load) == total(entry.size for entry in deployed.entries(load))


def test_need_is_zero_elsewhere() -> None:
    assert deployment(model()).need_bytes("gpu1", LOAD) == ZERO


def test_transformers_has_no_pool_and_prints_nothing() -> None:
    deployed = deployment(model())
    assert deployed.capacity(LOAD) is None
    assert deployed.log_lines() == ()


@pytest.mark.parametrize(
    ("changes", "node", "version", "surge", "of_all"),
    [
        # hundredths of what the prompt's pass holds beside its cache, upwards; of everything beside the weights, both ways
        pytest.param({}, gpu(), "5.24.0", 3, 1, id="traced"),
        pytest.param({}, gpu((9, 0)), "5.24.0", 13, 1, id="cuDNN's workspace on Hopper"),
        pytest.param({}, gpu(), "5.30.0", 3, 11, id="a newer version"),
        pytest.param({"model_type": "internlm"}, gpu(), "5.24.0", 3, 25, id="a likeness"),
    ],
)
def test_intervals(changes: dict[str, object], node: Node, version: str, surge: int, of_all: int) -> None:
    load = Workload(41, 2, 40)  # the prefill is the peak
    entries = by_term(deployment(model(changed=changes), node=node, version=version).entries(load))
    found, cache = entries["activations"].size, entries["kv_cache"].size.best
    beside = found.best + cache
    held = beside - 2 * 40 * 384
    assert found == (
        max(0, found.best - beside * of_all // 100),
        found.best,
        found.best + beside * of_all // 100 + held * surge // 100,
    )


def test_a_quantized_cache_comes_and_goes() -> None:
    entry = by_term(deployment(model(), kv_dtype="int8").entries(LOAD))["kv_cache"]
    assert entry.basis == "modeled"
    assert entry.size.best - entry.size.low == 2 * 128 * 384
    fp8 = by_term(deployment(model(), kv_dtype="fp8").entries(LOAD))["kv_cache"]
    assert fp8.size.low == fp8.size.best


@pytest.mark.parametrize("kv", ["fp8", "int8"])
def test_reading_a_quantized_cache_takes_plain_copies(kv: str) -> None:
    # transformers 5.24 cache_utils.py: fp8 two float32, one plain and two old codes (12 B for each K); others four plain
    load = Workload(4000, 4, 3999)
    quantized = deployment(model(), kv_dtype=kv).phases(load)
    kept = deployment(model(), kv_dtype=kv).kv(load).reserved_bytes
    transient = (quantized.decode_peak_bytes or 0) - (quantized.load_peak_bytes or 0) - kept
    assert transient == pytest.approx(4 * 4000 * 32 * (12 if kv == "fp8" else 8), rel=0.1)


def test_equal_settings_are_compiled_once() -> None:
    spec = model()
    first, second = deployment(spec, node=gpu()), deployment(spec, node=gpu())
    assert total(entry.size for entry in first.entries(LOAD)) == second.need_bytes("gpu0", LOAD)
    assert first._footprint is second._footprint
    assert deployment(model(), node=UNKNOWN_NODE)._footprint is not first._footprint
