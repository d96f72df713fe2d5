"""FP8 with one float32 scale a row, as Meta publishes Llama 3.1 405B.

Source: transformers 5.24 quantizers/quantizer_fbgemm_fp8.py.
"""

from kvplan.specs.config import Config
from kvplan.specs.layouts import beside, packed
from kvplan.specs.quantization import Recipe

METHODS = ("fbgemm_fp8",)
IGNORES = ("modules_to_not_convert",)
LOADS_AS = "bfloat16"  # update_dtype of that quantizer


def recipe(cfg: Config) -> Recipe:
    """A scale for each output; nothing to choose but what is left alone."""
    del cfg
    return Recipe(lambda group: (packed(group, "float8_e4m3fn"), beside(group, "weight_scale", group.rows, 1, "float32")))
