"""What vLLM says no to before it looks at memory, in its own words."""

from collections.abc import Iterator

from kvplan.core.device import Node
from kvplan.core.ledger import Refusal
from kvplan.core.mixers import Mixer
from kvplan.core.model import ModelSpec
from kvplan.core.splitting import head_counts
from kvplan.engines.vllm import checks
from kvplan.engines.vllm.cache import Cache
from kvplan.engines.vllm.classes import WITHOUT_PIPELINE
from kvplan.engines.vllm.length import length
from kvplan.engines.vllm.rules import Rules
from kvplan.engines.vllm.settings import Settings

_UNKNOWN_KINDS = ("rwkv", "rg_lru")


def config_refusals(
    model: ModelSpec, settings: Settings, node: Node, rules: Rules, at_any_length: tuple[Refusal, ...]
) -> tuple[Refusal, ...]:
    """The first of each kind; vLLM itself stops at the first of all. ``at_any_length`` are those of ``refusals_at_any_length``.

    Source: vllm 0.33 config/model.py (verify_with_parallel_config, _get_and_verify_max_len), config/parallel.py,
    platforms/cuda.py (get_attn_backend_cls), v1/core/kv_cache_planning.py, model_executor/models/utils.py.
    """
    return (*_length(model, settings, rules), *at_any_length, *checks.refusals(model, settings, node, rules))


def refusals_at_any_length(model: ModelSpec, settings: Settings, cache: Cache, node: Node) -> tuple[Refusal, ...]:
    """Those that the length of sequences does not change."""
    return (
        *_world(settings, node),
        *_heads(model, settings),
        *_pipeline(model, settings),
        *_context_parallel(model, settings, cache),
        *_states(model, settings),
        *_kernel(model, settings, cache),
        *_classes(model),
    )


def _length(model: ModelSpec, settings: Settings, rules: Rules) -> Iterator[Refusal]:
    limit = length(model, rules).most
    if settings.auto_fit and not rules.auto_fit:
        yield Refusal("KV110", "config", "max_model_len=-1: only vLLM 0.14 and later choose the length that fits")
    elif settings.auto_fit and limit is None:
        text = "max_model_len=-1 needs a limit in the model's config.json, which names none"
        yield Refusal("KV110", "config", text)
    if limit is not None and settings.max_model_len > limit and not settings.allow_long_max_model_len:
        yield Refusal(
            "KV110",
            "config",
            f"User-specified max_model_len ({settings.max_model_len}) is greater than the derived max_model_len "
            f"(max_position_embeddings={limit} or model_max_length=None in model's config.json). To allow overriding this "
            "maximum, set the env var VLLM_ALLOW_LONG_MAX_MODEL_LEN=1.",
        )


def _world(settings: Settings, node: Node) -> Iterator[Refusal]:
    world = settings.tp * settings.pp * settings.pcp
    if node.source == "flag" and node.gpus and world > len(node.gpus):
        yield Refusal(
            "KV111", "config", f"World size ({world}) is larger than the number of available GPUs ({len(node.gpus)}) in this node."
        )


def _heads(model: ModelSpec, settings: Settings) -> Iterator[Refusal]:
    heads, kv_heads = head_counts(model)
    if heads and heads % settings.tp:
        text = f"Total number of attention heads ({heads}) must be divisible by tensor parallel size ({settings.tp})."
        yield Refusal("KV112", "config", text)
    elif kv_heads and (kv_heads % settings.tp if kv_heads >= settings.tp else settings.tp % kv_heads):
        yield Refusal("KV113", "config", "AssertionError")  # the model's attention asserts it without a word


def _pipeline(model: ModelSpec, settings: Settings) -> Iterator[Refusal]:
    if settings.pp > 1 and model.architecture in WITHOUT_PIPELINE:
        yield Refusal(
            "KV114",
            "config",
            "Pipeline parallelism is not supported for this model. Supported models implement the `SupportsPP` interface.",
        )


def _context_parallel(model: ModelSpec, settings: Settings, cache: Cache) -> Iterator[Refusal]:
    heads, kv_heads = head_counts(model)
    if settings.dcp == 1 or not kv_heads:
        return
    if not cache.traits.latent:
        text = _spread(heads, kv_heads, settings, windowed=cache.traits.windowed)
    elif cache.traits.sparse and not cache.form.sparse_packed:
        text = "DCP for FlashMLA sparse requires an fp8_ds_mla kv-cache; the bf16 sparse path is not supported under DCP."
    else:
        return
    if text:
        yield Refusal("KV115", "config", text)


def _spread(heads: int, kv_heads: int, settings: Settings, *, windowed: bool) -> str:
    """Why plain heads can't be spread by tokens, nothing where they can."""
    tp, dcp = settings.tp, settings.dcp
    if tp <= kv_heads:
        return (
            f"Decode context parallelism for GQA/MQA requires `--tensor-parallel-size` ({tp}) to be greater than the model's "
            f"total number of KV heads ({kv_heads}). Increase `--tensor-parallel-size` or set `--decode-context-parallel-size 1`."
        )
    if dcp > tp // kv_heads:
        return (
            f"`--decode-context-parallel-size` ({dcp}) exceeds the maximum supported value ({tp // kv_heads}) for "
            f"`--tensor-parallel-size` ({tp}) and {kv_heads} model KV heads."
        )
    if heads // kv_heads % dcp:
        return (
            f"The model's number of query heads per KV head ({heads // kv_heads}) must be divisible by "
            f"`--decode-context-parallel-size` ({dcp}) for GQA/MQA."
        )
    return "DCP not support sliding window." if windowed else ""


def _states(model: ModelSpec, settings: Settings) -> Iterator[Refusal]:
    """Source: vllm 0.33 model_executor/layers/mamba/mamba_mixer2.py, distributed/utils.py, divide."""
    for run in model.runs:
        for mixer in run.layer.mixers:
            if mixer.kind == "mamba2" and mixer.n_heads % settings.tp:
                yield Refusal("KV116", "config", "Tensor parallel world size must divide num heads.")
                return
            if mixer.kind == "mamba2" and mixer.n_groups % settings.tp and mixer.n_groups != 1:
                yield Refusal("KV116", "config", "If tensor parallel world size does not divide num_groups, then num_groups must equal 1.")
                return
            if mixer.kind == "gated_delta" and mixer.n_v_heads % settings.tp:
                yield Refusal("KV116", "config", f"{mixer.n_v_heads} is not divisible by {settings.tp}")
                return


def _kernel(model: ModelSpec, settings: Settings, cache: Cache) -> Iterator[Refusal]:
    if cache.kernel is not None or not cache.traits.attends:
        return
    width = max(_width(mixer) for run in model.runs for mixer in run.layer.mixers)
    yield Refusal(
        "KV117",
        "config",
        f"No valid attention backend found for cuda with AttentionSelectorConfig(head_size={width}, dtype=torch.{settings.dtype}, "
        f"kv_cache_dtype={cache.form.kv_dtype}, block_size={settings.block_size}, use_mla={cache.traits.latent}, "
        f"use_sparse={cache.traits.sparse}).",
    )


def _width(mixer: Mixer) -> int:
    """Width of an attention head, of a latent its own; 0 for what is no attention."""
    if mixer.kind == "mla":
        return mixer.elems_per_token
    return mixer.head_dim if mixer.kind in ("full", "sliding", "chunked", "cross") else 0


def _classes(model: ModelSpec) -> Iterator[Refusal]:
    if any(mixer.kind in _UNKNOWN_KINDS for run in model.runs for mixer in run.layer.mixers):
        yield Refusal("KV119", "config", f"Model architectures ['{model.architecture}'] are not supported for now.")
