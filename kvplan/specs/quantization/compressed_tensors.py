"""compressed-tensors: integers or floats of few bits with scales a tensor, channel, group or block.

Source: compressed-tensors 0.12 quantization/quant_args.py and compressors (pack-quantized, float-quantized, nvfp4-pack-quantized).
"""

from collections.abc import Callable

from kvplan.core.model import WeightGroup
from kvplan.core.units import ceil_div
from kvplan.specs.config import Config, shown
from kvplan.specs.layouts import INT_BITS, beside, packed
from kvplan.specs.parts.blocks import Groups
from kvplan.specs.quantization import Rule

METHODS = ("compressed-tensors",)
IGNORES = ("ignore",)


def rule(cfg: Config) -> Rule:
    """The first group's weights hold for every projection; a config with several groups is counted by its widest."""
    groups = cfg.sub("config_groups")
    weights = [groups.sub(name).sub("weights") for name in groups.data]
    if not weights:
        raise cfg.error("config_groups", "missing: expected at least one group with weights")
    widest = max(weights, key=lambda args: args.integer("num_bits", default=8))
    return _rule(widest, cfg.text("format", default=""))


def _rule(args: Config, form: str) -> Rule:
    bits, kind = args.integer("num_bits", default=8), args.text("type", default="int")
    dtype = {("float", 8): "float8_e4m3fn", ("float", 4): "float4_e2m1"}.get((kind, bits)) or INT_BITS.get(bits)
    if dtype is None or kind not in ("int", "float"):
        raise args.error("num_bits", f"expected 2, 3, 4 or 8 bits of type int or float, found {bits} of {shown(kind)}")
    scales = _scales(args)
    extra = _extra(form, kind)
    zeros = kind == "int" and not args.flag("symmetric", default=True)

    def stored(group: WeightGroup) -> Groups:
        rows, cols = scales(group)
        zero_points = (beside(group, "weight_zero_point", rows, cols, dtype),) if zeros else ()
        return (packed(group, dtype), beside(group, "weight_scale", rows, cols, _scale_dtype(form)), *zero_points, *extra(group))

    return stored


def _scales(args: Config) -> Callable[[WeightGroup], tuple[int, int]]:
    """Shape of the scales of a projection."""
    size = args.integer("group_size", default=-1, least=-1)
    block = args.integers("block_structure", default=(128, 128), least=1)
    match args.text("strategy", default="group" if size > 0 else "tensor"):
        case "tensor":
            return lambda group: (1, 1)
        case "channel":
            return lambda group: (group.rows, 1)
        case "group" | "tensor_group" if size > 0:
            return lambda group: (group.rows, ceil_div(group.cols, size))
        case "block" if len(block) == 2:
            return lambda group: (ceil_div(group.rows, block[0]), ceil_div(group.cols, block[1]))
        case other:
            raise args.error("strategy", f"expected tensor, channel, group or block, found '{other}'", hint="a group needs its group_size")


def _scale_dtype(form: str) -> str | None:
    return {"nvfp4-pack-quantized": "float8_e4m3fn", "mxfp4-pack-quantized": "uint8"}.get(form)


def _extra(form: str, kind: str) -> Rule:
    """What a packing adds to each tensor: its shape as two int64, or NVFP4's scale of scales."""
    if form == "nvfp4-pack-quantized":
        return lambda group: (beside(group, "weight_global_scale", 1, 1, "float32"), beside(group, "input_global_scale", 1, 1, "float32"))
    if form == "pack-quantized" and kind == "int":
        return lambda group: (beside(group, "weight_shape", 2, 1, "int64"),)
    return lambda group: ()
