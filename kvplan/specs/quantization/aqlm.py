"""AQLM: each group of weights is a sum of entries of code books, of which a projection stores the numbers.

Source: Egiazarian et al. 2024, arXiv:2401.06118 §3; aqlm 1.1.7 inference.py, QuantizedLinear.
"""

from kvplan.core.model import WeightGroup
from kvplan.core.units import ceil_div
from kvplan.specs.config import Config
from kvplan.specs.layouts import INT_BITS, beside, packed
from kvplan.specs.parts.blocks import Groups
from kvplan.specs.quantization import Recipe

METHODS = ("aqlm",)
IGNORES = ("linear_weights_not_to_quantize",)
LOADS_AS = "float16"


def recipe(cfg: Config) -> Recipe:
    """Codes fill whole bytes; with the usual numbers they come to a whole number of bits a weight.

    Raises ConfigError where they don't.
    """
    wide, high = cfg.integer("in_group_size", default=8, most=2**16), cfg.integer("out_group_size", default=1, most=2**16)
    n_books, code_bits = cfg.integer("num_codebooks", default=1, most=2**8), cfg.integer("nbits_per_codebook", default=16, most=32)
    bits, rest = divmod(n_books * 8 * ceil_div(code_bits, 8), wide * high)
    if rest or bits not in INT_BITS:
        raise cfg.error(
            "num_codebooks", f"expected codes of 2, 3, 4 or 8 bits a weight, found {n_books} of {code_bits} for {wide} × {high}"
        )

    def stored(group: WeightGroup) -> Groups:
        books = beside(group, "codebooks", n_books * 2**code_bits, wide * high, "float16")
        return packed(group, INT_BITS[bits]), books, beside(group, "scales", ceil_div(group.rows, high), 1, "float16")

    return Recipe(stored)
