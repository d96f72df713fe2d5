"""NVIDIA Model Optimizer: FP8, NVFP4, MXFP8 and their kin, for all modules or listed one by one.

Source: NVIDIA Model Optimizer 0.45 torch/export/{unified_export_hf,quant_utils}.py; vLLM 0.33 layers/quantization/modelopt.py.
"""

from itertools import groupby

from kvplan.core.errors import did_you_mean
from kvplan.core.model import WeightGroup
from kvplan.specs.config import Config
from kvplan.specs.layouts import INT_BITS, beside, blocked, grouped, mxfp4, mxfp8, nvfp4, packed, scalar
from kvplan.specs.parts.blocks import Groups
from kvplan.specs.quantization import Part, Recipe, Rule, patterns

METHODS = ("modelopt", "modelopt_fp4", "modelopt_mixed")
IGNORES = ("ignore", "exclude_modules")
MIXED = "MIXED_PRECISION"
_BLOCK, _AWQ_GROUP = (128, 128), 128


def recipe(cfg: Config) -> Recipe:
    """``quant_algo`` of the whole checkpoint, or of each of ``quantized_layers``; none where the cache alone has scales.

    Raises ConfigError where it is missing or another.
    """
    if not cfg.has("quant_algo") and _kv_cache_is_fp8(cfg):
        return Recipe(None, kv_scales=True)
    algorithm, parts = cfg.text("quant_algo"), listed_parts(cfg)
    if algorithm == MIXED and not parts:
        raise cfg.error("quantized_layers", f"missing: expected the algorithm of each module, as quant_algo is {MIXED}")
    rest = None if algorithm == MIXED else _rule(cfg, algorithm)
    return Recipe(rest, parts, kv_scales=_kv_cache_is_fp8(cfg))


def listed_parts(cfg: Config) -> tuple[Part, ...]:
    """The modules of ``quantized_layers``, those of one algorithm together."""
    layers = cfg.sub("quantized_layers")
    algorithms = {name: layers.sub(name).text("quant_algo") for name in layers.data}
    by_algorithm = groupby(sorted(algorithms, key=algorithms.__getitem__), key=algorithms.__getitem__)
    return tuple(Part(patterns(cfg, "quantized_layers", names), _rule(layers, algorithm)) for algorithm, names in by_algorithm)


def _rule(cfg: Config, algorithm: str) -> Rule:
    rule = _RULES.get(algorithm.upper())
    if rule is None:
        known = ", ".join((*_RULES, MIXED))
        raise cfg.error("quant_algo", f"expected one of {known}, found '{algorithm}'", hint=did_you_mean(algorithm, list(_RULES)))
    return rule


def _kv_cache_is_fp8(cfg: Config) -> bool:
    """``kv_cache_quant_algo`` in a file of the tool's own, ``kv_cache_scheme`` in a config; some put the one's value into the other."""
    if cfg.has("kv_cache_quant_algo"):
        return cfg.text("kv_cache_quant_algo") == "FP8"
    scheme = cfg.data.get("kv_cache_scheme")
    return scheme == "FP8" or (isinstance(scheme, dict) and cfg.sub("kv_cache_scheme").integer("num_bits", default=8) == 8)


def _fp8(group: WeightGroup) -> Groups:
    return packed(group, "float8_e4m3fn"), scalar(group, "weight_scale"), scalar(group, "input_scale")


def _fp8_rows(group: WeightGroup) -> Groups:
    return packed(group, "float8_e4m3fn"), beside(group, "weight_scale", group.rows, 1, "float32")


def _nvfp4(group: WeightGroup) -> Groups:
    return *nvfp4(group), scalar(group, "input_scale")


def _smoothed(group: WeightGroup) -> Groups:
    """What AWQ and SmoothQuant multiply a projection's inputs by."""
    return (beside(group, "pre_quant_scale", group.cols, 1, None),)


def _awq(group: WeightGroup) -> Groups:
    return *grouped(group, 4, _AWQ_GROUP, zero_points=False, scale_dtype=None), *_smoothed(group)


def _int8(group: WeightGroup) -> Groups:
    scales = beside(group, "weight_scale", group.rows, 1, "float32")
    return packed(group, INT_BITS[8]), scales, scalar(group, "input_scale"), *_smoothed(group)


_RULES: dict[str, Rule] = {
    "FP8": _fp8,
    "FP8_PER_CHANNEL_PER_TOKEN": _fp8_rows,
    "FP8_PB_WO": lambda group: blocked(group, _BLOCK, scale_dtype="float32"),
    "NVFP4": _nvfp4,
    "W4A16_NVFP4": nvfp4,
    "W4A8_NVFP4_FP8": _nvfp4,
    "NVFP4_AWQ": lambda group: (*_nvfp4(group), *_smoothed(group)),
    "MXFP8": mxfp8,
    "MXFP4": mxfp4,
    "W4A16_AWQ": _awq,
    "W4A8_AWQ": lambda group: (*_awq(group), scalar(group, "weight_scale_2"), scalar(group, "input_scale")),
    "INT8_SQ": _int8,
}
