"""AMD Quark: FP8, INT8 or INT4 with scales a tensor, channel or group, and MXFP4.

Source: amd-quark 0.11 docs, export of Hugging Face safetensors; vLLM 0.33 layers/quantization/quark/quark.py.
"""

from collections.abc import Callable

from kvplan.core.model import WeightGroup
from kvplan.core.units import ceil_div
from kvplan.specs.config import Config
from kvplan.specs.layouts import beside, mxfp4, packed, read_group_size, scalar
from kvplan.specs.parts.blocks import Groups
from kvplan.specs.quantization import Part, Recipe, Rule, patterns

METHODS = ("quark",)
IGNORES = ("exclude",)
_DTYPES = {"fp8_e4m3": "float8_e4m3fn", "int8": "int8", "int4": "int4", "uint4": "int4", "fp4": "float4_e2m1"}


def recipe(cfg: Config) -> Recipe:
    """``global_quant_config``, and ``layer_quant_config`` for the modules that its globs name.

    Raises ConfigError for weights of another type or with scales of another kind.
    """
    listed = cfg.sub("layer_quant_config")
    parts = tuple(Part(patterns(listed, name, (name,)), _rule(listed.sub(name))) for name in listed.data)
    kv_cache = cfg.sub("kv_cache_quant_config")
    return Recipe(_rule(cfg.sub("global_quant_config")), parts, kv_scales=bool(kv_cache.data))


def _rule(cfg: Config) -> Rule | None:
    if not cfg.has("weight"):
        return None
    weight = cfg.sub("weight")
    named = weight.text("dtype")
    if named not in _DTYPES:
        raise weight.error("dtype", f"expected one of {', '.join(_DTYPES)}, found '{named}'")
    if named == "fp4":
        return mxfp4
    shape, static = _scales(weight), cfg.has("input_tensors") and not cfg.sub("input_tensors").flag("is_dynamic", default=False)
    zeros = named == "uint4"

    def stored(group: WeightGroup) -> Groups:
        rows, cols = shape(group)
        return (
            packed(group, _DTYPES[named]),
            beside(group, "weight_scale", rows, cols, "float32" if named == "fp8_e4m3" else None),
            *((beside(group, "weight_zero_point", cols, rows, "int4"),) if zeros else ()),
            *((scalar(group, "input_scale"),) if static else ()),
        )

    return stored


def _scales(weight: Config) -> Callable[[WeightGroup], tuple[int, int]]:
    match weight.text("qscheme", default="per_tensor"):
        case "per_tensor":
            return lambda group: (1, 1)
        case "per_channel":
            return lambda group: (group.rows, 1)
        case "per_group":
            size = read_group_size(weight, "group_size")
            return lambda group: (group.rows, ceil_div(group.cols, size) if size > 0 else 1)
        case other:
            raise weight.error("qscheme", f"expected per_tensor, per_channel or per_group, found '{other}'")
