"""MXFP4 experts: 4-bit floats with one shared exponent for 32 of them, as gpt-oss is published.

Source: OCP Microscaling Formats 1.0 §5.2; transformers 5.24 integrations/mxfp4.py.
"""

from kvplan.core.model import WeightGroup
from kvplan.specs.config import Config
from kvplan.specs.layouts import mxfp4
from kvplan.specs.parts.blocks import Groups
from kvplan.specs.quantization import Recipe

METHODS = ("mxfp4",)
IGNORES = ("modules_to_not_convert",)
LOADS_AS = "bfloat16"  # update_dtype of that quantizer


def recipe(cfg: Config) -> Recipe:
    """Experts alone, and known to the byte (gpt-oss-20b): every other projection is listed as left alone."""
    del cfg
    return Recipe(_experts, off_by=(0, 0))


def _experts(group: WeightGroup) -> Groups:
    return mxfp4(group) if group.role == "expert" else (group,)
