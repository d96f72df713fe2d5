"""NVIDIA Model Optimizer's algorithms by name, and the list that gives each module one: its own files have it, and others' do.

Source: NVIDIA Model Optimizer 0.45 torch/export/{unified_export_hf,quant_utils}.py; vLLM 0.33 layers/quantization/modelopt.py.
"""

from itertools import groupby

from kvplan.core.errors import did_you_mean
from kvplan.core.model import WeightGroup
from kvplan.specs.config import Config
from kvplan.specs.layouts import INT_BITS, beside, blocked, grouped, mxfp4, mxfp8, nvfp4, packed, scalar
from kvplan.specs.parts.blocks import Groups
from kvplan.specs.quantization import Part, Rule, patterns

MIXED = "MIXED_PRECISION"
_BLOCK, _AWQ_GROUP = (128, 128), 128


def listed_parts(cfg: Config) -> tuple[Part, ...]:
    """The modules of ``quantized_layers``, those of one algorithm together."""
    layers = cfg.sub("quantized_layers")
    algorithms = {name: layers.sub(name).text("quant_algo") for name in layers.data}
    by_algorithm = groupby(sorted(algorithms, key=algorithms.__getitem__), key=algorithms.__getitem__)
    return tuple(Part(patterns(cfg, "quantized_layers", names), rule_of(layers, algorithm)) for algorithm, names in by_algorithm)


def rule_of(cfg: Config, algorithm: str) -> Rule:
    """The layout of ``algorithm``. Raises ConfigError for one that is not known."""
    rule = _RULES.get(algorithm.upper())
    if rule is None:
        known = ", ".join((*_RULES, MIXED))
        raise cfg.error("quant_algo", f"expected one of {known}, found '{algorithm}'", hint=did_you_mean(algorithm, list(_RULES)))
    return rule


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
