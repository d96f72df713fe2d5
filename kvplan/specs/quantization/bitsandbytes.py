"""bitsandbytes: nf4 or fp4 with a maximum for 64 elements, or int8 with one for each output.

Source: Dettmers et al. 2023, arXiv:2305.14314 §3; bitsandbytes 0.48 functional.py, QuantState.as_dict.
"""

from kvplan.core.model import WeightGroup
from kvplan.core.units import ceil_div
from kvplan.specs.config import Config
from kvplan.specs.layouts import beside, packed, scalar
from kvplan.specs.parts.blocks import Groups
from kvplan.specs.quantization import Recipe

METHODS = ("bitsandbytes", "bitsandbytes_4bit", "bitsandbytes_8bit")
IGNORES = ("llm_int8_skip_modules",)
LOADS_AS = "float16"  # update_dtype of transformers 5.24 quantizers/quantizer_bnb_4bit.py
BLOCK, NESTED_BLOCK = 64, 256
CODES, NESTED_CODES = 16, 256
STATE_BYTES, NESTED_STATE_BYTES = 90, 173  # the settings as JSON; shapes and an offset make them a few bytes longer or shorter


def recipe(cfg: Config) -> Recipe:
    """``load_in_8bit`` or ``load_in_4bit``, or what the method is called; double quantization stores the maxima in 8 bits.

    Raises ConfigError for both at once and for neither.
    """
    method = cfg.text("quant_method", default="")
    eight, four = (cfg.flag(f"load_in_{bits}bit", default=method.endswith(f"_{bits}bit")) for bits in (8, 4))
    if eight and four:
        raise cfg.error("load_in_4bit", "expected false beside load_in_8bit, found true")
    if not eight and not four:
        raise cfg.error("load_in_4bit", "expected this or load_in_8bit to be true, found neither")
    if eight:
        return Recipe(_eight_bit, towers=True)
    return Recipe(_nested if cfg.flag("bnb_4bit_use_double_quant", default=False) else _four_bit, towers=True)


def _eight_bit(group: WeightGroup) -> Groups:
    return packed(group, "int8"), beside(group, "SCB", group.rows, 1, "float32"), scalar(group, "weight_format", "uint8")


def _four_bit(group: WeightGroup) -> Groups:
    return (
        packed(group, "int4"),
        beside(group, "absmax", ceil_div(group.rows * group.cols, BLOCK), 1, "float32"),
        beside(group, "quant_map", CODES, 1, "float32"),
        beside(group, "quant_state", STATE_BYTES, 1, "uint8"),
    )


def _nested(group: WeightGroup) -> Groups:
    n_blocks = ceil_div(group.rows * group.cols, BLOCK)
    return (
        packed(group, "int4"),
        beside(group, "absmax", n_blocks, 1, "uint8"),
        beside(group, "nested_absmax", ceil_div(n_blocks, NESTED_BLOCK), 1, "float32"),
        beside(group, "quant_map", CODES, 1, "float32"),
        beside(group, "nested_quant_map", NESTED_CODES, 1, "float32"),
        beside(group, "quant_state", NESTED_STATE_BYTES, 1, "uint8"),
    )
