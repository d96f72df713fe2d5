"""BitNet b1.58: ternary weights, four to a byte, with one scale a projection.

Source: Ma et al. 2024, arXiv:2402.17764; transformers 5.24 integrations/bitnet.py.
"""

from kvplan.specs.config import Config
from kvplan.specs.layouts import packed, scalar
from kvplan.specs.quantization import Recipe

METHODS = ("bitnet",)
IGNORES = ("modules_to_not_convert",)


def recipe(cfg: Config) -> Recipe:
    """Two bits an element; ``online`` quantization stores full weights."""
    if cfg.text("quantization_mode", default="offline") == "online":
        return Recipe(None)
    return Recipe(lambda group: (packed(group, "int2"), scalar(group, "weight_scale", None)))
