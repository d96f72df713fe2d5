"""BitNet b1.58: ternary weights, four to a byte, with one scale a projection.

Source: Ma et al. 2024, arXiv:2402.17764; transformers 5.24 integrations/bitnet.py.
"""

from kvplan.specs.config import Config
from kvplan.specs.layouts import beside, packed
from kvplan.specs.quantization import Rule

METHODS = ("bitnet",)
IGNORES = ("modules_to_not_convert",)


def rule(cfg: Config) -> Rule:
    """Two bits an element."""
    return lambda group: (packed(group, "int2"), beside(group, "weight_scale", 1, 1, None))
