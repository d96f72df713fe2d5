"""FP8: one scale a block, as DeepSeek and Qwen publish it, or one a tensor.

Source: transformers 5.24 quantizers/quantizer_finegrained_fp8.py; DeepSeek-V3, arXiv:2412.19437 §3.3.
"""

from kvplan.core.model import WeightGroup
from kvplan.specs.config import Config
from kvplan.specs.layouts import beside, blocked, packed
from kvplan.specs.parts.blocks import Groups
from kvplan.specs.quantization import Rule

METHODS = ("fp8",)
IGNORES = ("modules_to_not_convert", "ignored_layers")


def rule(cfg: Config) -> Rule:
    """``weight_block_size`` [rows, columns] with float32 scales; without it a scale a tensor, and one for static activations."""
    if cfg.has("weight_block_size"):
        sizes = cfg.integers("weight_block_size", least=1)
        if len(sizes) != 2:
            raise cfg.error("weight_block_size", f"expected [rows, columns], found {list(sizes)}")
        return lambda group: blocked(group, (sizes[0], sizes[1]), scale_dtype="float32")
    static = cfg.text("activation_scheme", default="dynamic") == "static"

    def per_tensor(group: WeightGroup) -> Groups:
        scales = (beside(group, "weight_scale", 1, 1, None), *((beside(group, "input_scale", 1, 1, None),) if static else ()))
        return (packed(group, "float8_e4m3fn"), *scales)

    return per_tensor
