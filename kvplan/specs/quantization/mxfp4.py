"""MXFP4 experts: 4-bit floats with one shared exponent for 32 of them, as gpt-oss is published.

Source: OCP Microscaling Formats 1.0 §5.2; transformers 5.24 integrations/mxfp4.py.
"""

from kvplan.core.model import WeightGroup
from kvplan.core.units import ceil_div
from kvplan.specs.config import Config
from kvplan.specs.layouts import beside, packed
from kvplan.specs.parts.blocks import Groups
from kvplan.specs.quantization import Rule

METHODS = ("mxfp4",)
IGNORES = ("modules_to_not_convert",)
LOADS_AS = "bfloat16"  # update_dtype of that quantizer
BLOCK = 32


def rule(cfg: Config) -> Rule:
    """Experts alone: every other projection is listed as left alone."""
    return stored


def stored(group: WeightGroup) -> Groups:
    """Packed elements, and a byte of exponent for each block."""
    if group.role != "expert":
        return (group,)
    return packed(group, "float4_e2m1"), beside(group, "scales", group.rows, ceil_div(group.cols, BLOCK), "float8_e8m0fnu")
