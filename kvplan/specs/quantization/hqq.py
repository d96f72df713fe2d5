"""HQQ: groups of 8, 4 or 2 bits with a scale and a zero point in the model's type.

Source: hqq 0.2.8 core/quantize.py, HQQLinear.state_dict; transformers 5.24 utils/quantization_config.py, HqqConfig.
"""

from kvplan.core.model import WeightGroup
from kvplan.core.units import ceil_div
from kvplan.specs.config import Config
from kvplan.specs.layouts import INT_BITS, beside, packed, read_bits
from kvplan.specs.parts.blocks import Groups
from kvplan.specs.quantization import Part, Recipe, Rule, patterns

METHODS = ("hqq",)
IGNORES = ("skip_modules",)
_PADDED_BITS = 3


def recipe(cfg: Config) -> Recipe:
    """``quant_config`` for all projections, or one for each kind by its name (``self_attn.q_proj``)."""
    whole = cfg.sub("quant_config")
    if whole.has("weight_quant_params"):
        return Recipe(_rule(whole), towers=True)
    return Recipe(None, tuple(Part(patterns(whole, name, (name,)), _rule(whole.sub(name))) for name in whole.data))


def _rule(cfg: Config) -> Rule:
    weights = cfg.sub("weight_quant_params")
    bits = read_bits(weights, "nbits", default=4)
    if bits == _PADDED_BITS:
        raise weights.error("nbits", "expected 8, 4 or 2: how ten elements of 3 bits fill an int32 is not counted")
    size = weights.optional_integer("group_size")

    def stored(group: WeightGroup) -> Groups:
        n_groups = group.rows if size is None else ceil_div(group.rows * group.cols, size)
        return packed(group, INT_BITS[bits]), *(beside(group, name, n_groups, 1, None) for name in ("scale", "zero"))

    return stored
