"""GPTQ: 2 to 8-bit groups with scales, zero points and the group of each input.

Source: Frantar et al. 2022, arXiv:2210.17323; transformers 5.24 quantizers/quantizer_gptq.py.
"""

from kvplan.specs.config import Config
from kvplan.specs.layouts import INT_BITS, beside, grouped, read_group_size
from kvplan.specs.quantization import Rule

METHODS = ("gptq", "auto-round", "intel/auto-round")
IGNORES = ("modules_to_not_convert",)
LOADS_AS = "float16"  # update_dtype of that quantizer


def rule(cfg: Config) -> Rule:
    """Zero points are stored also for symmetric groups; ``g_idx`` is one int32 an input.

    Raises ConfigError for bits that no layout has, and for GPTQ without any: only AutoRound has a default.
    """
    default = None if cfg.text("quant_method", default="gptq") == "gptq" else 4
    bits, size = cfg.integer("bits", default=default), read_group_size(cfg, "group_size")
    if bits not in INT_BITS:
        raise cfg.error("bits", f"expected one of {', '.join(map(str, INT_BITS))}, found {bits}")
    return lambda group: (
        *grouped(group, bits, size, zero_points=True, scale_dtype="float16"),
        beside(group, "g_idx", group.cols, 1, "int32"),
    )
