"""compressed-tensors: integers or floats of few bits with scales a tensor, channel, group or block.

Source: compressed-tensors 0.12 quantization/quant_args.py and compressors (pack-quantized, float-quantized, nvfp4-pack-quantized).
"""

from collections.abc import Callable

from kvplan.core.model import Caveat, WeightGroup
from kvplan.core.units import ceil_div
from kvplan.specs.config import Config, shown
from kvplan.specs.layouts import INT_BITS, beside, mxfp4, mxfp8, nvfp4, packed, scalar
from kvplan.specs.parts.blocks import Groups
from kvplan.specs.quantization import Part, Recipe, Rule, patterns

METHODS = ("compressed-tensors",)
IGNORES = ("ignore",)
_MX_GROUP, _NVFP4_GROUP = 32, 16
_HALF = (50, 2)  # hundredths: of four elements, two are stored


def recipe(cfg: Config) -> Recipe:
    """Each group's weights hold for the modules that its ``targets`` name; the class Linear is every projection of the layers.

    Raises ConfigError where no group says how weights are stored.
    """
    groups = cfg.sub("config_groups")
    made = [(groups.sub(name), _weights_rule(groups.sub(name), cfg)) for name in groups.data]
    if not made:
        raise cfg.error("config_groups", "missing: expected at least one group with weights")
    parts = tuple(Part(patterns(group, "targets", filter(_is_name, _targets(group))), rule) for group, rule in made)
    rest = next((rule for group, rule in made if not all(map(_is_name, _targets(group)))), None)
    plain = Recipe(rest, parts, kv_scales=_static(cfg, "kv_cache_scheme"))
    sparsity = cfg.sub("sparsity_config").text("format", default="dense")
    return plain if sparsity == "dense" else plain._replace(off_by=_HALF, caveats=(_counted_dense(cfg, sparsity),))


def _counted_dense(cfg: Config, sparsity: str) -> Caveat:
    return Caveat(
        "KV023",
        "warning",
        f"{cfg.where}: {cfg.path}sparsity_config: weights are counted as if '{sparsity}' left none out, an upper bound",
        "the headers of the checkpoint's files say it exactly",
    )


def _targets(group: Config) -> tuple[str, ...]:
    return group.texts("targets", default=("Linear",))


def _is_name(target: str) -> bool:
    """Whether a target names modules; else it is the class of some: Linear, or an engine's own."""
    return not target[:1].isupper()


def _weights_rule(group: Config, cfg: Config) -> Rule | None:
    """How one group stores weights, with the scale of static inputs; None for a group of activations alone."""
    if not group.has("weights"):
        return None
    rule = _rule(group.sub("weights"), group.text("format", default=cfg.text("format", default="")))
    four_bit_inputs = group.has("input_activations") and group.sub("input_activations").integer("num_bits", default=8) == 4
    name = "input_global_scale" if four_bit_inputs else "input_scale"
    has_scale = _static(group, "input_activations") or (four_bit_inputs and _is_nvfp4(group.sub("weights")))
    return (lambda stored: (*rule(stored), scalar(stored, name, "float32" if four_bit_inputs else None))) if has_scale else rule


def _static(cfg: Config, key: str) -> bool:
    """Whether what is quantized there has a scale of its own in the checkpoint."""
    return cfg.has(key) and cfg.sub(key).data.get("dynamic", False) is False


def _is_nvfp4(args: Config) -> bool:
    return args.text("type", default="int") == "float" and args.integer("num_bits", default=8) == 4 and _group_size(args) == _NVFP4_GROUP


def _group_size(args: Config) -> int:
    return args.integer("group_size", default=-1, least=-1)


def _rule(args: Config, form: str) -> Rule:
    bits, kind = args.integer("num_bits", default=8), args.text("type", default="int")
    dtype = {("float", 8): "float8_e4m3fn", ("float", 4): "float4_e2m1"}.get((kind, bits)) or INT_BITS.get(bits)
    if dtype is None or kind not in ("int", "float"):
        raise args.error("num_bits", f"expected 2, 3, 4 or 8 bits of type int or float, found {bits} of {shown(kind)}")
    if kind == "float" and _group_size(args) == _MX_GROUP:
        return mxfp4 if bits == 4 else mxfp8
    if _is_nvfp4(args):
        return nvfp4
    scales, packs = _scales(args), kind == "int" and form == "pack-quantized"
    zeros = kind == "int" and not args.flag("symmetric", default=True)
    ordered = args.data.get("actorder") == "group"

    def stored(group: WeightGroup) -> Groups:
        rows, cols = scales(group)
        return (
            packed(group, dtype),
            beside(group, "weight_scale", rows, cols, None),
            *((_zero_points(group, rows, cols, dtype, packs=packs),) if zeros else ()),
            *((beside(group, "weight_shape", 2, 1, "int64"),) if packs else ()),
            *((beside(group, "weight_g_idx", group.cols, 1, "int32"),) if ordered else ()),
        )

    return stored


def _zero_points(group: WeightGroup, rows: int, cols: int, dtype: str, *, packs: bool) -> WeightGroup:
    """One for each scale; packed along the outputs where the weights are packed."""
    return beside(group, "weight_zero_point", cols, rows, dtype) if packs else beside(group, "weight_zero_point", rows, cols, "int8")


def _scales(args: Config) -> Callable[[WeightGroup], tuple[int, int]]:
    """Shape of the scales of a projection."""
    size = _group_size(args)
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
