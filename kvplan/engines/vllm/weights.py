"""Bytes of the weights that one rank holds once the model is built."""

from kvplan.core.dtypes import DTYPES
from kvplan.core.model import Layer, LayerRun, ModelSpec, WeightGroup
from kvplan.core.sharding import Sharding, group_bytes
from kvplan.core.stages import layer_counts
from kvplan.engines.vllm.classes import EMBEDDING_EVERYWHERE, HEAD_EVERYWHERE, ROPE_FLOAT32
from kvplan.engines.vllm.loaded import quantized_on_load
from kvplan.engines.vllm.settings import Settings

CACHE_SCALES = 16  # four float32 scales of q, k, v and probabilities in every attention layer


def by_stage(model: ModelSpec, settings: Settings, capability: tuple[int, int] | None, *, built: bool = False) -> tuple[int, ...]:
    """Bytes of weights, tables and buffers on one rank of each pipeline stage, before anything is repacked.

    ``built``: while the model is being built, before layers are quantized that the checkpoint holds unquantized.
    """
    on_load = None if built else quantized_on_load(model, settings)
    distinct = {id(layer): layer for layer in model.layers()}
    sizes = {
        key: layer_bytes(layer, sharding(model, settings, layer, capability)._replace(on_load=on_load)) for key, layer in distinct.items()
    }
    each = [sizes[id(layer)] for layer in model.layers()]
    counts = layer_counts(model.n_layers, settings.pp, settings.layer_partition)
    starts = [sum(counts[:stage]) for stage in range(settings.pp)]
    tables = rope_bytes(model, settings)
    outside = _outside(model, settings)
    return tuple(
        sum(each[start : start + count]) + tables + outside[stage] for stage, (start, count) in enumerate(zip(starts, counts, strict=True))
    )


def drafter_bytes(runs: tuple[LayerRun, ...], model: ModelSpec, settings: Settings, capability: tuple[int, int] | None) -> int:
    """Bytes of a drafter's layers on one rank."""
    return sum(run.n_layers * layer_bytes(run.layer, sharding(model, settings, run.layer, capability)) for run in runs)


def sharding(model: ModelSpec, settings: Settings, layer: Layer, capability: tuple[int, int] | None) -> Sharding:
    """The sharding of one layer's weights."""
    heads = [mixer.n_kv_heads for mixer in layer.mixers if mixer.kind in ("full", "sliding", "chunked", "cross")]
    width = next((ffn.intermediate for ffn in layer.ffns if ffn.kind == "moe"), 1)
    ranks = settings.tp * settings.dp if settings.expert_parallel else settings.tp
    pads = _mxfp4_pads(model.quantization, capability)
    return Sharding(settings.tp, ranks, settings.dtype, heads[0] if heads else settings.tp, model.hidden_size, width, pads)


def _mxfp4_pads(method: str | None, capability: tuple[int, int] | None) -> tuple[int, int]:
    """Multiples of the hidden and of the intermediate width, by the kernel of the card.

    Source: vllm 0.33 model_executor/layers/fused_moe/oracle/mxfp4.py: Triton on Hopper, Marlin before, CUTLASS after.
    """
    if method != "mxfp4":
        return 1, 1
    major = (capability or (9, 0))[0]
    if major == 9:
        return 1, 64
    return (256, 128) if major < 9 else (128, 128)


def layer_bytes(layer: Layer, how: Sharding) -> int:
    """Bytes of one layer on one rank, with the scales that every attention layer keeps for its cache."""
    scales = sum(CACHE_SCALES for mixer in layer.mixers if mixer.kind in ("full", "sliding", "chunked", "mla", "cross"))
    return scales + sum(group_bytes(group, how) for group in layer.weights)


def _outside(model: ModelSpec, settings: Settings) -> tuple[int, ...]:
    """What lies outside the layers, by stage: embedding and encoders on the first, last norm and head on the last.

    A head that shares the embedding's memory has its own on another stage; some classes build both on all stages.
    """
    how = Sharding(settings.tp, settings.tp, settings.dtype, kv_heads=settings.tp)
    sizes = [(_end(group), group_bytes(_whole_vocab(group) if encodes(model) else group, how)) for group in model.weights]
    outside = [0] * settings.pp
    tied = any(group.role == "lm_head" and group.tied_to for group in model.weights)
    for end, size in sizes:
        stages = {settings.pp - 1} if end in ("last", "lm_head") else {0}
        if model.architecture in {"embedding": EMBEDDING_EVERYWHERE, "lm_head": HEAD_EVERYWHERE}.get(end, ()):
            stages = set(range(settings.pp))
        if end == "embedding" and tied:
            stages = {*stages, settings.pp - 1}
        for stage in stages:
            outside[stage] += size
    return tuple(outside)


def _end(group: WeightGroup) -> str:
    """Where a group outside the layers lies."""
    if group.role in ("embedding", "lm_head"):
        return group.role
    return "last" if group.role == "norm" and not group.name.startswith("embed") else "first"


def encodes(model: ModelSpec) -> bool:
    """Whether the model attends to an encoder of its own: vLLM's class of those keeps the decoder's embedding whole.

    Source: vllm 0.33 model_executor/models/whisper.py, WhisperDecoder.
    """
    return any(mixer.kind == "cross" for run in model.runs for mixer in run.layer.mixers)


def _whole_vocab(group: WeightGroup) -> WeightGroup:
    return group._replace(shard="replicated") if group.shard == "vocab" else group


def rope_bytes(model: ModelSpec, settings: Settings) -> int:
    """Tables of cos and sin, one for each way of rotating, on every rank.

    Source: vllm 0.33 model_executor/layers/rotary_embedding/: base, linear, yarn and longrope.
    """
    width, positions = model.form.rotary_dim, model.max_ctx_tokens
    if not width or not positions:
        return 0
    rows = [_positions(scaling.kind, scaling.factor, scaling.original_ctx_tokens, positions) for scaling in model.rope] or [positions]
    if any(scaling.applied for scaling in model.rope):
        rows.append(positions)  # layers with a window rotate without the stretching
    kept_as = "float32" if model.architecture in ROPE_FLOAT32 else settings.dtype
    return sum(rows) * width * DTYPES[kept_as].block_bytes


def _positions(kind: str, factor: float, original: int | None, positions: int) -> int:
    if kind == "linear":
        return int(positions * factor)
    if "yarn" in kind and original:
        return int(original * factor)
    if kind in ("longrope", "su") and original:
        return original + positions
    return positions
