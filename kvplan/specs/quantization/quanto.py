"""Quanto and EETQ: 8-bit weights with a scale an output; Quanto's 4 and 2-bit ones have scale and shift a group.

Source: optimum-quanto 0.2.7 tensor/weights; transformers 5.24 integrations/eetq.py, EetqLinear.
"""

from kvplan.core.errors import did_you_mean
from kvplan.core.model import WeightGroup
from kvplan.specs.config import Config
from kvplan.specs.layouts import beside, n_groups_of, packed
from kvplan.specs.parts.blocks import Groups
from kvplan.specs.quantization import Recipe, Rule

METHODS = ("quanto", "eetq")
IGNORES = ("modules_to_not_convert",)
_GROUP = 128


def recipe(cfg: Config) -> Recipe:
    """``weights`` is the type of their elements. Raises ConfigError for another."""
    weights = cfg.text("weights", default="int8")
    if weights not in _RULES:
        raise cfg.error("weights", f"expected one of {', '.join(_RULES)}, found '{weights}'", hint=did_you_mean(weights, list(_RULES)))
    return Recipe(_RULES[weights], towers=True)


def _by_row(dtype: str) -> Rule:
    return lambda group: (packed(group, dtype), beside(group, "scale", group.rows, 1, None))


def _by_group(dtype: str) -> Rule:
    def stored(group: WeightGroup) -> Groups:
        n_groups = n_groups_of(group, _GROUP)
        return packed(group, dtype), *(beside(group, name, group.rows, n_groups, None) for name in ("scale", "shift"))

    return stored


_RULES = {"int8": _by_row("int8"), "float8": _by_row("float8_e4m3fn"), "int4": _by_group("int4"), "int2": _by_group("int2")}
