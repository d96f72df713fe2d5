"""How much of a machine's peaks engines reach: a few constants a class of engines and kind of memory, with sources."""

from typing import NamedTuple


class Efficiency(NamedTuple):
    """Shares of the peaks, and seconds that no peak explains.

    ``mbu`` of bandwidth when weights and cache are read, ``mfu`` of the 16-bit arithmetic that products reach, ``link`` of what joins two
    cards. Products of experts, which each see few tokens, reach ``expert_mfu`` of that; each doubling of the peak by a narrower type
    leaves ``narrow`` of it. ``layer_s`` each layer of a pass takes, ``expert_layer_s`` more of it where it routes to experts, ``step_s``
    each pass, ``request_s`` each request, ``link_s`` each all-reduce beside its bytes. ``unpack`` are the operations that turn a packed
    weight into a factor. Stages that follow each other work at the same time on ``in_flight`` passes at most, and gain ``overlap`` of what
    that could; ``pipelines``: also on parts of a decoding batch. ``spread`` is the factor by which a time may be off either way.
    """

    mbu: float
    mfu: float
    layer_s: float
    spread: float
    source: str
    expert_layer_s: float = 0.0
    step_s: float = 0.0
    request_s: float = 0.0
    narrow: float = 1.0
    unpack: float = 0.0
    link: float = 0.5
    link_s: float = 20e-6
    overlap: float = 0.5
    in_flight: float = 4.0
    pipelines: bool = True
    expert_mfu: float = 0.5


COMPILED, SERVED, LAUNCHED, GGML, EAGER = "compiled", "served", "launched", "ggml", "eager"

SCORE_PASSES_BYTES = 21.0
"""Bytes of scores that eager attention moves for each head, query and key: float32 written, softmax read and written, read again.
Fitted to the pp rows of llama.cpp of May 2024, from 512 to 8192 tokens."""

REREAD = 0.42
"""Of the query heads that share a key head, the share that eager attention reads it again for when it decodes. Fitted to the tg rows of
llama.cpp of May 2024, from 512 to 8192 tokens: 32 and 64 heads on 8."""

APART = 1.35
"""How much wider the range is where more than one card works: what joins them is known least (all-reduces without peer access, stages
that wait)."""

_TRT = "TensorRT-LLM performance.md v0.6.1 (28 rows: H100, A100, L40S), mlc-ai/llm-perf-bench#1"
_VLLM = "vLLM quantized_kvcache.md (L4), vLLM blog 2026-04-22 (H100: 9 fits, 9 of a load test); club-3090 rows for cards with GDDR"
_GGML = "XiongjieDai/GPU-Benchmarks-on-LLM-Inference (68 rows: 3070 to 4090, A6000, A100, H100, M1 Max, M3 Max)"
_METAL = "Apple: 44 to 60 % of bandwidth in builds of 2023 and 2024, 86 % in one report of 2026 (M4), hence the wide range"
_SPARK = "DGX Spark model throughput, 2026-05-24 (secondary)"
_TORCH = "pytorch.org/blog/accelerating-generative-ai-2: 7B, not compiled, A100 80 GB, batch 1: 25.5 tokens/s; no other rows"
_NO_GRAPHS = "one report of 59 tokens/s with graphs and 26 without them (DGX Spark); no other rows"

_COMPILED = Efficiency(
    mbu=0.80,
    mfu=0.72,
    narrow=0.67,
    layer_s=10e-6,
    expert_layer_s=40e-6,
    step_s=0.7e-3,
    request_s=4e-3,
    link=0.45,
    link_s=80e-6,
    spread=1.26,
    source=_TRT,
)
_SERVED = Efficiency(
    mbu=0.80,
    mfu=0.56,
    narrow=0.67,
    expert_mfu=0.5,
    layer_s=12e-6,
    expert_layer_s=80e-6,
    step_s=0.5e-3,
    request_s=4e-3,
    link=0.5,
    link_s=15e-6,
    spread=1.26,
    source=_VLLM,
)
_LAUNCHED = _SERVED._replace(layer_s=300e-6, expert_layer_s=300e-6, step_s=2e-3, spread=1.6, source=f"{_NO_GRAPHS}; {_VLLM}")
_LLAMA_CPP = Efficiency(
    mbu=0.90,
    mfu=0.41,
    expert_mfu=0.8,
    unpack=16.0,
    layer_s=45e-6,
    expert_layer_s=20e-6,
    step_s=0.3e-3,
    overlap=0.7,
    pipelines=False,
    spread=1.26,
    source=_GGML,
)
_EAGER = Efficiency(
    mbu=0.75,
    mfu=0.50,
    layer_s=850e-6,
    expert_layer_s=850e-6,
    step_s=2e-3,
    overlap=0.0,
    pipelines=False,
    spread=1.6,
    source=_TORCH,
)

_TABLE = {
    **{(COMPILED, memory): _COMPILED for memory in ("hbm", "gddr", "unified")},
    (SERVED, "hbm"): _SERVED,
    (SERVED, "gddr"): _SERVED._replace(expert_layer_s=40e-6, link_s=25e-6),
    (SERVED, "unified"): _SERVED._replace(mbu=0.72, source=f"{_SPARK}; {_VLLM}"),
    **{(LAUNCHED, memory): _LAUNCHED for memory in ("hbm", "gddr", "unified")},
    (GGML, "hbm"): _LLAMA_CPP._replace(layer_s=150e-6),
    (GGML, "gddr"): _LLAMA_CPP,
    (GGML, "unified"): _LLAMA_CPP._replace(mfu=0.45, unpack=11.0, spread=1.6, source=f"{_GGML}; {_SPARK}; {_METAL}"),
    (EAGER, "hbm"): _EAGER,
    (EAGER, "gddr"): _EAGER,
    (EAGER, "unified"): _EAGER._replace(mbu=0.6),
}


def efficiency(engine: str, memory: str) -> Efficiency:
    """The constants of a class of engines on a kind of memory."""
    return _TABLE[engine, memory]
