"""Properties of the Transformers engine, over small models of every shape it treats apart."""

from hypothesis import given
from hypothesis import strategies as st

from kvplan.core.ledger import Interval, total
from kvplan.core.model import ModelSpec
from kvplan.core.workload import Workload
from kvplan.engines.transformers.deployment import Deployment
from tests.engines.transformers.running import LATENT, MIXTURE, deployment, gpu, model

MODELS: dict[str, ModelSpec] = {
    "full": model(),
    "sliding": model(model_type="mistral", sliding_window=48),
    "mixed windows": model(model_type="gemma3_text", head_dim=16, sliding_window=32, num_hidden_layers=6, sliding_window_pattern=3),
    "mixture": model(MIXTURE),
    "latent": model(LATENT),
    "state": model({"model_type": "mamba2", "vocab_size": 100, "hidden_size": 64, "num_hidden_layers": 2, "num_heads": 8, "head_dim": 16}),
    "eager": model(model_type="gemma2", head_dim=16, sliding_window=32),
}
DEPLOYMENTS: list[Deployment] = [
    deployment(spec, flags, node=gpu(capability))
    for spec in MODELS.values()
    for capability, flags in (
        ((8, 0), {}),
        ((9, 0), {"attn_implementation": "eager"}),
        ((7, 0), {"cache_implementation": "static"}),
        ((8, 0), {"kv_dtype": "fp8"}),
        (None, {"kv_dtype": "int4"}),
        ((8, 0), {"forward": "plain", "dtype": "float32"}),
        ((8, 0), {"attn_implementation": "flash_attention_2"}),
    )
]
TOKENS = st.integers(1, 400)


def need(deployed: Deployment, ctx: int, batch: int, prompt: int) -> Interval:
    return deployed.need_bytes("gpu0", Workload(ctx, batch, prompt))


def covers(larger: Interval, smaller: Interval) -> bool:
    return all(a >= b for a, b in zip(larger, smaller, strict=True))


@given(st.sampled_from(DEPLOYMENTS), TOKENS, TOKENS, st.integers(1, 9))
def test_need_is_the_sum_of_the_entries(deployed: Deployment, prompt: int, steps: int, batch: int) -> None:
    load = Workload(prompt + steps - 1, batch, prompt)
    assert deployed.need_bytes("gpu0", load) == total(entry.size for entry in deployed.entries(load))


@given(st.sampled_from(DEPLOYMENTS), TOKENS, TOKENS, st.integers(1, 9), TOKENS)
def test_a_longer_context_never_costs_less(deployed: Deployment, prompt: int, steps: int, batch: int, more: int) -> None:
    ctx = prompt + steps
    assert covers(need(deployed, ctx + more, batch, prompt), need(deployed, ctx, batch, prompt))


@given(st.sampled_from(DEPLOYMENTS), TOKENS, TOKENS, st.integers(1, 9), TOKENS)
def test_a_longer_context_with_as_many_steps_never_costs_less(deployed: Deployment, prompt: int, steps: int, batch: int, more: int) -> None:
    assert covers(need(deployed, prompt + more + steps, batch, prompt + more), need(deployed, prompt + steps, batch, prompt))


@given(st.sampled_from(DEPLOYMENTS), TOKENS, TOKENS, st.integers(1, 9), TOKENS)
def test_a_longer_prompt_never_costs_less_while_a_step_is_left(
    deployed: Deployment, prompt: int, steps: int, batch: int, more: int
) -> None:
    ctx = prompt + more + steps
    assert covers(need(deployed, ctx, batch, prompt + more), need(deployed, ctx, batch, prompt))


@given(st.sampled_from(DEPLOYMENTS), TOKENS, TOKENS, st.integers(1, 9), st.integers(1, 9))
def test_a_larger_batch_never_costs_less(deployed: Deployment, prompt: int, steps: int, batch: int, more: int) -> None:
    ctx = prompt + steps - 1
    assert covers(need(deployed, ctx, batch + more, prompt), need(deployed, ctx, batch, prompt))


@given(st.sampled_from(DEPLOYMENTS), TOKENS, TOKENS, st.integers(1, 9))
def test_need_covers_every_phase(deployed: Deployment, prompt: int, steps: int, batch: int) -> None:
    load = Workload(prompt + steps - 1, batch, prompt)
    phases, needed = deployed.phases(load), deployed.need_bytes("gpu0", load)
    peaks = (phases.load_peak_bytes, phases.prefill_peak_bytes, phases.decode_peak_bytes)
    assert all(needed.best >= peak for peak in peaks if peak is not None)


@given(st.sampled_from(DEPLOYMENTS), TOKENS, TOKENS, st.integers(1, 9))
def test_an_engine_keeps_at_least_what_the_mathematics_must(deployed: Deployment, prompt: int, steps: int, batch: int) -> None:
    found = deployed.kv(Workload(prompt + steps - 1, batch, prompt))
    assert 0 <= found.ideal_bytes <= found.reserved_bytes
    assert found.marginal_bytes_per_token <= found.bytes_per_token


@given(TOKENS, TOKENS, st.integers(1, 9), st.sampled_from(["dynamic", "static"]), st.sampled_from(["sdpa", "eager", "flash_attention_2"]))
def test_a_window_beyond_the_context_is_full_attention(prompt: int, steps: int, batch: int, cache: str, attn: str) -> None:
    load = Workload(prompt + steps - 1, batch, prompt)
    flags = {"cache_implementation": cache, "attn_implementation": attn}
    windowed = deployment(model(model_type="mistral", sliding_window=load.ctx_tokens + 1), flags)
    full = deployment(model(model_type="mistral", sliding_window=None), flags)
    assert windowed.kv(load)[:-1] == full.kv(load)[:-1] or load.decode_steps == 0
    assert windowed.kv(load).reserved_bytes == full.kv(load).reserved_bytes
    assert windowed.phases(load).prefill_peak_bytes == full.phases(load).prefill_peak_bytes
