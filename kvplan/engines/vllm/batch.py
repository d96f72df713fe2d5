"""How many sequences and tokens one step takes where the user doesn't say, and which batch sizes are captured as graphs."""

from typing import NamedTuple

from kvplan.core.device import Node
from kvplan.core.model import ModelSpec
from kvplan.core.units import GIB, ceil_to
from kvplan.engines.vllm.classes import MANY_GRAPHS
from kvplan.engines.vllm.rules import Rules
from kvplan.engines.vllm.said import Json, Said, text

_OF_V0 = 2048
_BATCHED, _BATCHED_EXPERTS = ("deepep_low_latency", "nixl_ep"), 256
_GB10 = (12, 1)
_BLACKWELL = 10


class Batch(NamedTuple):
    """The limits of one step."""

    max_num_seqs: int
    max_num_batched_tokens: int


def batch(said: Said, rules: Rules, node: Node, max_model_len: int, *, chunked: bool) -> Batch:
    """What was said, else the defaults of the hardware and of how vLLM is used, clipped as vLLM clips them.

    Source: vllm 0.33.0 engine/arg_utils.py, get_batch_defaults and _set_default_max_num_seqs_and_batched_tokens_args.
    """
    seqs, tokens = said.count("max-num-seqs"), said.count("max-num-batched-tokens")
    default = _defaults(rules, node, offline=said.word("usage") == "offline")
    if said.word("performance-mode") == "throughput":
        default = Batch(2 * default.max_num_seqs, 2 * default.max_num_batched_tokens)
    n_seqs = seqs or default.max_num_seqs
    n_tokens = tokens or (_BATCHED_EXPERTS if rules.batched_experts and _exchanges_batches(said) else default.max_num_batched_tokens)
    if tokens is None:
        n_tokens = n_tokens if chunked else max(max_model_len, n_tokens)
        n_tokens = min(n_seqs * max_model_len, n_tokens) if rules.clips_batch else n_tokens
    return Batch(min(n_seqs, n_tokens) if seqs is None and rules.clips_batch else n_seqs, n_tokens)


def _exchanges_batches(said: Said) -> bool:
    """Experts spread over replicas that swap whole batches. Source: vllm 0.33.0 config/parallel.py, use_batched_dp_moe."""
    spread = said.on("enable-expert-parallel") or said.number("ep", 1) > 1
    return spread and said.number("data-parallel-size", 1) > 1 and said.word("all2all-backend") in _BATCHED


def _defaults(rules: Rules, node: Node, *, offline: bool) -> Batch:
    """By memory, name and compute capability of the first card; an unknown one counts as small."""
    if not rules.v1:
        return Batch(256, _OF_V0)
    gpu = node.gpus[0] if node.gpus else None
    memory = gpu.driver_bytes if gpu else 0
    small = gpu is None or (rules.small_a100 and "a100" in gpu.name.lower()) or (rules.small_gb10 and gpu.compute_capability == _GB10)
    if rules.large_gpu and memory >= 160 * GIB:
        return Batch(1024, 16384)
    if memory >= 70 * GIB and not small:
        return Batch(1024, 16384 if offline else 8192)
    return Batch(256, 8192 if offline else _OF_V0)


def graph_sizes(said: Said, rules: Rules, limits: Batch, *, defaults: tuple[int, int | None], width: int) -> tuple[int, ...]:
    """The batch sizes that are captured, none where graphs are off. A sequence decodes ``width`` tokens at once.

    Source: vllm 0.33.0 config/vllm.py, _set_cudagraph_sizes; 0.11.0 config/__init__.py and 0.8.5 config.py, the same.
    """
    compilation = said.json("compilation-config")
    mode = text(compilation, "cudagraph_mode", "compilation-config") or ""
    if said.on("enforce-eager") or mode.upper() == "NONE" or said.word("optimization-level") == "0":
        return ()
    asked = said.sizes("cudagraph-capture-sizes") or said.sizes("cuda-graph-sizes") or _listed(compilation)
    if len(asked) > 1 or (asked and "cuda-graph-sizes" not in said):
        return tuple(sorted({size for size in asked if size <= limits.max_num_batched_tokens}))
    ceiling, fixed = defaults
    most = asked[0] if asked else said.count("max-cudagraph-capture-size") or _most(compilation) or fixed
    default = min(limits.max_num_seqs * width * 2, ceiling) if rules.v1 else ceil_to(limits.max_num_seqs, 8)
    finely = said.word("performance-mode") == "interactivity"
    sizes = graph_grid(min(most or default, limits.max_num_batched_tokens), rules.graph_step, finely=finely)
    if rules.decode_graphs and most is None:
        sizes |= _decode_sizes(limits, width, default)
    return tuple(sorted(sizes))


def graph_defaults(model: ModelSpec, rules: Rules, node: Node) -> tuple[int, int | None]:
    """What limits the captured batches by default, and the largest where the model's class names one.

    Source: vllm 0.33.0 config/vllm.py, _set_cudagraph_sizes; model_executor/models/config.py, GptOssForCausalLMConfig.
    """
    capability = node.gpus[0].compute_capability if node.gpus else None
    blackwell = rules.wide_graphs and capability is not None and capability[0] == _BLACKWELL
    return 1024 if blackwell else 512, 1024 if model.architecture in MANY_GRAPHS else None


def graph_grid(most: int, step: int, *, finely: bool = False) -> set[int]:
    """1, 2, 4, then every 8 up to 256, then every ``step``; with ``most`` itself where it is a whole batch of tokens."""
    few = range(1, min(most, 32) + 1) if finely else (size for size in (1, 2, 4) if size <= most)
    return {*few, *range(8, min(most + 1, 256), 8), *range(256, most + 1, step)}


def _decode_sizes(limits: Batch, width: int, ceiling: int) -> set[int]:
    """Batches that only decode, each sequence ``width`` tokens wide; of plain decoding the largest one alone."""
    if width == 1:
        return {limits.max_num_seqs} if limits.max_num_seqs <= min(ceiling, limits.max_num_batched_tokens) else set()
    most = min(limits.max_num_seqs, ceiling)
    return {n * width for n in (*graph_grid(most, 16), most) if n * width <= min(ceiling, limits.max_num_batched_tokens)}


def _listed(compilation: Json) -> tuple[int, ...]:
    value = compilation.get("cudagraph_capture_sizes")
    return tuple(size for size in value if isinstance(size, int)) if isinstance(value, list) else ()


def _most(compilation: Json) -> int | None:
    value = compilation.get("max_cudagraph_capture_size")
    return value if isinstance(value, int) and value > 0 else None
