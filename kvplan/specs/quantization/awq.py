"""AWQ: 4-bit groups with scales and zero points.

Source: Lin et al. 2023, arXiv:2306.00978; transformers 5.24 quantizers/quantizer_awq.py (gemm layout).
"""

from kvplan.specs.config import Config
from kvplan.specs.layouts import INT_BITS, grouped, read_group_size
from kvplan.specs.quantization import Rule

METHODS = ("awq",)
IGNORES = ("modules_to_not_convert",)
LOADS_AS = "float16"  # update_dtype of that quantizer


def rule(cfg: Config) -> Rule:
    """``bits`` and ``group_size`` as given; scales are float16."""
    bits, size = cfg.integer("bits", "w_bit", default=4), read_group_size(cfg, "group_size", "q_group_size")
    if bits not in INT_BITS:
        raise cfg.error("bits", f"expected one of {', '.join(map(str, INT_BITS))}, found {bits}")
    zeros = cfg.flag("zero_point", default=True)
    return lambda group: grouped(group, bits, size, zero_points=zeros, scale_dtype="float16")
