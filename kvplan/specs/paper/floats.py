"""Floats of 8 and 4 bits: FP8 with a scale a channel or a block, NVFP4, MXFP4."""

from kvplan.core.model import ModelSpec
from kvplan.specs.paper import Scheme, layout, published

NAMES = ("fp8", "float8", "fp8_e4m3", "float8_e4m3fn", "fp8_block", "nvfp4", "mxfp4")

_SAME = {"float8": "fp8", "fp8_e4m3": "fp8", "float8_e4m3fn": "fp8"}
_CHANNELS = {"num_bits": 8, "type": "float", "symmetric": True, "strategy": "channel"}
_BLOCKS = {"num_bits": 4, "type": "float", "symmetric": True, "strategy": "group", "group_size": 32}
_SAYS = {
    "fp8": ("projections of the layers in float8_e4m3fn with a scale in {rest} for each output", "llm-compressor's FP8_DYNAMIC"),
    "fp8_block": (
        "projections of the layers in float8_e4m3fn with a float32 scale for 128 × 128, as DeepSeek and Qwen publish them",
        "llm-compressor's FP8_BLOCK",
    ),
    "nvfp4": ("projections of the layers in 4-bit floats with an FP8 scale for 16", "NVIDIA Model Optimizer or llm-compressor's NVFP4"),
    "mxfp4": (
        "4-bit floats with a shared exponent for 32: experts alone where there are any, as gpt-oss is published, else all projections "
        "of the layers",
        "llm-compressor's MXFP4A16",
    ),
}
_CONFIGS: dict[str, dict[str, object]] = {
    "fp8": {"quant_method": "compressed-tensors", "format": "float-quantized", "config_groups": {"group_0": {"weights": _CHANNELS}}},
    "fp8_block": {"quant_method": "fp8", "weight_block_size": [128, 128]},
    "nvfp4": {"quant_method": "modelopt", "quant_algo": "NVFP4"},
}
_MXFP4_EXPERTS: dict[str, object] = {"quant_method": "mxfp4"}
_MXFP4_ALL: dict[str, object] = {
    "quant_method": "compressed-tensors",
    "format": "mxfp4-pack-quantized",
    "config_groups": {"group_0": {"weights": _BLOCKS}},
}


def scheme(name: str) -> Scheme:
    """FP8 is per channel unless blocks are asked for."""
    name = _SAME.get(name, name)
    return published(name, *_SAYS[name], _mxfp4 if name == "mxfp4" else layout(_CONFIGS[name]))


def _mxfp4(spec: ModelSpec) -> ModelSpec:
    experts = any(group.role == "expert" for run in spec.runs for group in run.layer.weights)
    return layout(_MXFP4_EXPERTS if experts else _MXFP4_ALL)(spec)
