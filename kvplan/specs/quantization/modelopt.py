"""NVIDIA Model Optimizer: FP8 a tensor, or NVFP4 with an FP8 scale for 16 elements.

Source: NVIDIA Model Optimizer 0.45 export layout (quant_algo, weight_scale, weight_scale_2, input_scale).
"""

from kvplan.core.model import WeightGroup
from kvplan.core.units import ceil_div
from kvplan.specs.config import Config
from kvplan.specs.layouts import beside, packed
from kvplan.specs.parts.blocks import Groups
from kvplan.specs.quantization import Rule

METHODS = ("modelopt", "modelopt_fp4", "modelopt_mixed")
IGNORES = ("ignore", "exclude_modules")
NVFP4_BLOCK = 16


def rule(cfg: Config) -> Rule:
    """``quant_algo`` of the whole checkpoint; a mixed one is counted as FP8, its wider part.

    Raises ConfigError where it is missing or another.
    """
    algorithm = cfg.text("quant_algo")
    if algorithm in ("FP8", "MIXED_PRECISION"):
        return fp8
    if algorithm == "NVFP4":
        return nvfp4
    raise cfg.error("quant_algo", f"expected FP8, NVFP4 or MIXED_PRECISION, found '{algorithm}'")


def fp8(group: WeightGroup) -> Groups:
    """One scale for the weights, one for the inputs."""
    return packed(group, "float8_e4m3fn"), beside(group, "weight_scale", 1, 1, "float32"), beside(group, "input_scale", 1, 1, "float32")


def nvfp4(group: WeightGroup) -> Groups:
    """A scale for 16 elements, one above them for the tensor, one for the inputs."""
    return (
        packed(group, "float4_e2m1"),
        beside(group, "weight_scale", group.rows, ceil_div(group.cols, NVFP4_BLOCK), "float8_e4m3fn"),
        beside(group, "weight_scale_2", 1, 1, "float32"),
        beside(group, "input_scale", 1, 1, "float32"),
    )
