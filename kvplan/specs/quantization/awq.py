"""AWQ: 4-bit groups with scales and zero points.

Source: Lin et al. 2023, arXiv:2306.00978; AutoAWQ 0.2.9 modules/linear/{gemm,gemv}.py.
"""

from kvplan.core.model import WeightGroup
from kvplan.core.units import ceil_div
from kvplan.specs.config import Config
from kvplan.specs.layouts import INT_BITS, beside, grouped, n_groups_of, packed, read_bits, read_group_size
from kvplan.specs.parts.blocks import Groups
from kvplan.specs.quantization import OFF_BY, Recipe

METHODS = ("awq",)
IGNORES = ("modules_to_not_convert",)
LOADS_AS = "float16"  # update_dtype of transformers 5.24 quantizers/quantizer_awq.py
_PER_INT32 = 8
_PADDED_UNDER = 128


def recipe(cfg: Config) -> Recipe:
    """``bits`` and ``group_size`` as given; scales are float16.

    The gemm layout is known to the byte: Qwen2.5-7B-Instruct-AWQ.
    """
    bits, size = read_bits(cfg, "bits", "w_bit", default=4), read_group_size(cfg, "group_size", "q_group_size")
    version = cfg.text("version", default="gemm").lower()
    zeros = cfg.flag("zero_point", default=True)
    if version == "gemv":
        return Recipe(lambda group: _padded(group, bits, size))
    plain = version == "gemm" and bits == 4 and zeros
    return Recipe(lambda group: grouped(group, bits, size, zero_points=zeros, scale_dtype="float16"), off_by=(0, 0) if plain else OFF_BY)


def _padded(group: WeightGroup, bits: int, size: int) -> Groups:
    """The gemv layout: each output's zero points fill whole int32, several of them for groups under 128."""
    unit = _PER_INT32 * max(1, _PADDED_UNDER // size if size > 0 else 1)
    width = unit * ceil_div(n_groups_of(group, size), unit)
    return (
        packed(group, INT_BITS[bits]),
        beside(group, "scales", group.rows, width, "float16"),
        beside(group, "qzeros", group.rows, width, INT_BITS[bits]),
    )
