"""What loading makes of the weights: copies for the kernels, layers quantized on the way, adapters, what goes to the host."""

from kvplan.core.dtypes import DTYPES
from kvplan.core.ledger import ZERO, Interval, exactly
from kvplan.core.model import Layer, ModelSpec, WeightGroup
from kvplan.core.stages import layer_counts
from kvplan.core.units import ceil_div
from kvplan.engines.vllm.rules import Rules
from kvplan.engines.vllm.settings import Lora, Settings

ON_LOAD = {"fp8": "float8_e4m3fn", "bitsandbytes": "nf4"}
"""The element type where an unquantized checkpoint is quantized while it loads: fp8 with a scale for each tensor; nf4 with a float32
for each 64. Source: vllm 0.33 model_executor/layers/quantization/fp8.py; 0.19 bitsandbytes.py."""

_SWIZZLED = {"0.9": (0, 9, 13), "0.17": (0, 9, 13), "0.20": (0, 9, 13)}
"""Hundredths that MXFP4 experts grow by when Hopper's kernels lay them out: vLLM 0.19.0, gpt-oss-20b, 13.64 GiB for 12.85 at
TP1 and 7.01 for 6.55 at TP2. Later versions keep them within what Marlin pads."""
_SWIZZLED_LATER = (0, 0, 9)


def quantized_on_load(model: ModelSpec, settings: Settings) -> str | None:
    """The element type that linear layers are brought to while loading, None where they stay as stored."""
    return ON_LOAD.get(settings.quantization or "") if model.quantization is None else None


def copies(model: ModelSpec, settings: Settings, rules: Rules) -> tuple[Interval, ...]:
    """Bytes by pipeline stage that loading adds to the weights as built."""
    layers, start, found = list(model.layers()), 0, []
    for count in layer_counts(model.n_layers, settings.pp, settings.layer_partition):
        here = layers[start : start + count]
        start += count
        latent = exactly(sum(_absorbed(layer, settings) for layer in here))
        found.append(latent.plus(_swizzled(here, model, settings, rules)))
    return tuple(found)


def _absorbed(layer: Layer, settings: Settings) -> int:
    """The up-projections of a latent in 16 bits, where they are stored in fewer; a view of the weights where not.

    Source: vllm 0.33 model_executor/layers/attention/mla_attention.py, process_weights_after_loading.
    """
    quantized = any(group.name.endswith("kv_b_proj.weight") and group.dtype is not None for group in layer.weights)
    elem = DTYPES[settings.dtype].block_bytes
    return sum(
        mixer.n_heads // settings.tp * (mixer.nope_head_dim + mixer.v_head_dim) * mixer.kv_lora_rank * elem
        for mixer in layer.mixers
        if mixer.kind == "mla" and quantized
    )


def _swizzled(layers: list[Layer], model: ModelSpec, settings: Settings, rules: Rules) -> Interval:
    if model.quantization != "mxfp4":
        return ZERO
    experts = sum(group.n_bytes(settings.dtype) for layer in layers for group in layer.weights if group.shard == "expert")
    share = ceil_div(experts, settings.tp)
    low, best, high = (share * more // 100 for more in _SWIZZLED.get(rules.profile, _SWIZZLED_LATER))
    return Interval(low, best, high)


def adapters(model: ModelSpec, settings: Settings) -> int:
    """Bytes of the buffers for adapters on one rank of the fullest stage: A and B of every linear layer, used or not.

    Source: vllm 0.33 lora/layers/column_parallel_linear.py, row_parallel_linear.py, fused_moe.py.
    """
    if settings.lora is None:
        return 0
    sizes = [sum(_adapter(group, settings.lora, settings.tp) for group in layer.weights) for layer in model.layers()]
    most = max(layer_counts(model.n_layers, settings.pp, settings.layer_partition))
    return sum(sorted(sizes, reverse=True)[:most]) * DTYPES[settings.dtype].block_bytes


def _adapter(group: WeightGroup, lora: Lora, tp: int) -> int:
    """Elements of one linear layer's A and B, over all adapters and experts."""
    if not group.is_linear:
        return 0
    into, out = group.cols, group.rows
    if group.shard == "row":
        into, out = ceil_div(into, tp), ceil_div(out, tp) if lora.fully_sharded else out
    elif group.shard in ("column", "kv"):
        into, out = ceil_div(into, tp) if lora.fully_sharded else into, ceil_div(out, tp)
    return lora.max_loras * lora.max_rank * (into + out) * group.n_copies
