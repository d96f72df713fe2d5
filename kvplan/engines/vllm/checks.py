"""Settings that contradict each other, the model or the card: what vLLM says before it loads anything."""

from collections.abc import Iterator

from kvplan.core.device import Node
from kvplan.core.ledger import Refusal
from kvplan.core.model import ModelSpec
from kvplan.engines.vllm.rules import Rules
from kvplan.engines.vllm.settings import Settings

_AMPERE = (8, 0)
_NOT_IN_HALF = ("gemma2", "gemma3", "gemma3_text", "glm4")
_HALVES = ("float16", "bfloat16")
_RANKS = (1, 8, 16, 32, 64, 128, 256, 320, 512)
_FAMILIES = ("gptq", "awq", "fp8", "modelopt", "mxfp4", "compressed-tensors")  # whose kernels have names of their own
_ANY_OF_FOUR_BITS = ("humming", "inc", "moe_wna16")


def refusals(model: ModelSpec, settings: Settings, node: Node, rules: Rules) -> Iterator[Refusal]:
    """Every contradiction.

    Source: vllm 0.33.0 config/scheduler.py, verify_max_model_len; config/model.py, _check_valid_dtype and _verify_quantization;
    platforms/cuda.py, check_if_supports_dtype; config/vllm.py, _reject_mismatched_float_kv_cache; config/lora.py;
    distributed/utils.py, get_pp_indices.
    """
    yield from _steps(settings)
    yield from _types(model, settings, node, rules)
    yield from _quantization(model, settings)
    yield from _parts(model, settings)


def _steps(settings: Settings) -> Iterator[Refusal]:
    tokens = settings.max_num_batched_tokens
    if tokens < settings.max_model_len and not settings.chunked_prefill:
        yield Refusal(
            "KV120",
            "config",
            f"max_num_batched_tokens ({tokens}) is smaller than max_model_len ({settings.max_model_len}). This effectively limits the "
            "maximum sequence length to max_num_batched_tokens and makes vLLM reject longer sequences. Please increase "
            "max_num_batched_tokens or decrease max_model_len.",
        )
    if tokens < settings.max_num_seqs:
        text = f"max_num_batched_tokens ({tokens}) must be greater than or equal to max_num_seqs ({settings.max_num_seqs})."
        yield Refusal("KV121", "config", text)


def _types(model: ModelSpec, settings: Settings, node: Node, rules: Rules) -> Iterator[Refusal]:
    if settings.dtype == "float16" and model.model_type in _NOT_IN_HALF:
        reason = "Numerical instability. Please use bfloat16 or float32 instead."
        text = f"The model type '{model.model_type}' does not support float16. Reason: {reason}"
        yield Refusal("KV122", "config", text)
    capability = node.gpus[0].compute_capability if node.gpus else None
    if settings.dtype == "bfloat16" and capability is not None and capability < _AMPERE:
        yield Refusal(
            "KV123",
            "config",
            f"Bfloat16 is only supported on GPUs with compute capability of at least 8.0. Your {node.gpus[0].name} GPU has compute "
            f"capability {capability[0]}.{capability[1]}. You can use float16 instead by explicitly setting the `dtype` flag in CLI, for "
            "example: --dtype=half.",
        )
    if rules.matches_cache_type and settings.kv_cache_dtype in _HALVES and settings.kv_cache_dtype != settings.dtype:
        allowed = f"`auto` or `{settings.dtype}`" if settings.dtype in _HALVES else "`auto`"
        yield Refusal(
            "KV124",
            "config",
            f'kv_cache_dtype="{settings.kv_cache_dtype}" is incompatible with dtype="{settings.dtype}". Please set `--kv-cache-dtype` to '
            f"{allowed}.",
        )


def _quantization(model: ModelSpec, settings: Settings) -> Iterator[Refusal]:
    own, asked = model.quantization, settings.quantization
    if own is None or asked is None or own == asked or asked in _ANY_OF_FOUR_BITS:
        return
    if any(family in own and family in asked for family in _FAMILIES):
        return
    text = (
        f"Quantization method specified in the model config ({own}) does not match the quantization method specified in the "
        f"`quantization` argument ({asked})."
    )
    yield Refusal("KV125", "config", text)


def _parts(model: ModelSpec, settings: Settings) -> Iterator[Refusal]:
    """Adapters, state blocks, stages."""
    if settings.lora is not None and settings.lora.max_rank not in _RANKS:
        choices = ", ".join(map(str, _RANKS))
        text = f"argument --max-lora-rank: invalid choice: {settings.lora.max_rank} (choose from {choices})"
        yield Refusal("KV126", "parse", text)
    if settings.mamba_block_size not in (None, settings.max_model_len) and not settings.prefix_caching:
        yield Refusal("KV127", "config", "--mamba-block-size can only be set with --enable-prefix-caching")
    stages = settings.layer_partition
    if stages and len(stages) != settings.pp:
        yield Refusal("KV128", "config", f"len(partitions)={len(stages)} does not match pp_size={settings.pp}.")
    elif stages and sum(stages) != model.n_layers:
        yield Refusal("KV129", "config", f"sum(partitions)={sum(stages)} does not match num_hidden_layers={model.n_layers}.")
