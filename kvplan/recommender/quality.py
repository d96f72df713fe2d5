"""What fewer bits cost: a weight to order choices by, words, and the measurements behind them."""

from kvplan.recommender.case import Case
from kvplan.recommender.plan import AUTO, Plan, Risk
from kvplan.recommender.rewriting import form

_NONE = Risk(0, "none", "weights as they are given, cache in 16 bits", "")
_WEIGHTS = (
    (7.5, 1.0, "low", "weights in 8 bits: within the noise of most benchmarks"),
    (6.0, 1.5, "low", "weights in 6 bits: a very small loss"),
    (5.2, 2.5, "low", "weights in 5 bits: a small loss"),
    (4.0, 4.0, "medium", "weights in 4 bits: a loss that shows in long reasoning"),
    (0.0, 7.0, "high", "weights in under 4 bits: a loss that everybody sees"),
)
"""The first whose bits are not above those of the form."""
_SOURCES = {
    "vllm": "vLLM docs, features/quantization",
    "llama.cpp": "llama.cpp tools/quantize/README.md",
    "ollama": "llama.cpp tools/quantize/README.md",
    "transformers": "Transformers docs, quantization/bitsandbytes",
}
_AS_PUBLISHED = 9.5
_UNCALIBRATED, _CALIBRATED_BELOW = 0.25, 6
"""What is quantized while it loads has seen no examples, which tells in 4 bits."""
_FP8 = Risk(
    2,
    "low",
    "cache in FP8: AIME 2025 0.733 for 0.773 in 16 bits (Qwen3-235B), 94 – 99 % recovered at 128k on Hopper; scales of 1.0 may hurt",
    "SGLang docs, quantized_kv_cache.md; vLLM blog 2026-04-22",
)
_Q8 = Risk(
    2,
    "low",
    "cache in q8_0: perplexity + 0.0046, divergence 0.00098 (Llama-3-8B); some models lose more",
    "llama.cpp PR 7412; issue 21038",
)
_INT8 = Risk(
    2,
    "low",
    "cache in int8: perplexity on PG-19 is that of 16 bits even with 4 (Llama-2-7B-chat); slower, as it is unpacked in each step",
    "Hugging Face blog, kv-cache-quantization",
)
_FOUR = Risk(6, "high", "cache in 4 bits: AIME 2025 0.353 for 0.753 in 16 bits (gpt-oss-120b)", "SGLang docs, quantized_kv_cache.md")
_EIGHT_BITS = ("fp8", "fp8_e4m3", "fp8_e5m2", "fp8_ds_mla")
_SIXTEEN = (AUTO, "f16", "bf16", "f32", "float16", "bfloat16")


def of_weights(case: Case, plan: Plan) -> Risk:
    """Of weights that lie in fewer bits than they were published in."""
    bits = form(case, plan).bits
    if bits > _AS_PUBLISHED or plan.weights == case.start.weights or bits >= case.stored_bits:
        return _NONE
    weight, level, text = next(row[1:] for row in _WEIGHTS if bits >= row[0])
    blind = _UNCALIBRATED if form(case, plan).on_load and bits < _CALIBRATED_BELOW else 0
    return Risk(weight + blind, level, text, _SOURCES[case.dialect.engine])


def of_cache(plan: Plan) -> Risk:
    """Of a cache in fewer than 16 bits."""
    if plan.cache in _SIXTEEN:
        return _NONE
    if plan.cache == "int8":
        return _INT8
    return _Q8 if plan.cache == "q8_0" else _FP8 if plan.cache in _EIGHT_BITS else _FOUR


def risk(case: Case, plan: Plan) -> Risk:
    """Of both together."""
    parts = [part for part in (of_weights(case, plan), of_cache(plan)) if part.weight]
    if not parts:
        return _NONE
    worst = max(parts, key=lambda part: part.weight)
    return Risk(
        sum(part.weight for part in parts), worst.level, "; ".join(part.text for part in parts), "; ".join(part.source for part in parts)
    )
