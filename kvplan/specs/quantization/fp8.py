"""FP8: one scale a block, as DeepSeek and Qwen publish it, or one a tensor.

Source: transformers 5.24 quantizers/quantizer_finegrained_fp8.py; DeepSeek-V3, arXiv:2412.19437 §3.3.
"""

from kvplan.core.model import WeightGroup
from kvplan.specs.config import Config
from kvplan.specs.layouts import blocked, mxfp4, packed, scalar
from kvplan.specs.modelopt_algorithms import listed_parts
from kvplan.specs.parts.blocks import Groups
from kvplan.specs.quantization import Recipe, Rule

METHODS = ("fp8",)
IGNORES = ("modules_to_not_convert", "ignored_layers")
_BLOCK_OFF_BY = (1, 0)  # scales are float32 with DeepSeek and bfloat16 with Qwen3-8B, and no key says which


def recipe(cfg: Config) -> Recipe:
    """``weight_block_size`` [rows, columns] with a scale each; without it a scale a tensor, and one for static activations.

    ``expert_dtype`` of the model says ``fp4`` where its experts are MXFP4 (DeepSeek-V4). ``quantized_layers`` are modules
    that another tool has quantized further.
    """
    if not cfg.has("weight_block_size"):
        return Recipe(_per_tensor(cfg), listed_parts(cfg))
    sizes = cfg.integers("weight_block_size", least=1)
    if len(sizes) != 2:
        raise cfg.error("weight_block_size", f"expected [rows, columns], found {list(sizes)}")
    four_bit = cfg.text("expert_dtype", default="fp8") == "fp4"
    # DeepSeek-V3.1 and V3.2 round their scales to powers of two and store them in float32 all the same
    exponents = four_bit or (sizes[0] == 1 and cfg.text("scale_fmt", default="") == "ue8m0")
    scale_dtype = "float8_e8m0fnu" if exponents else "float32"

    def stored(group: WeightGroup) -> Groups:
        if four_bit and group.role == "expert":
            return mxfp4(group)
        return blocked(group, (sizes[0], sizes[1]), scale_dtype=scale_dtype)

    return Recipe(stored, listed_parts(cfg), off_by=_BLOCK_OFF_BY)


def _per_tensor(cfg: Config) -> Rule:
    static = cfg.text("activation_scheme", default="dynamic") == "static"

    def stored(group: WeightGroup) -> Groups:
        return (
            packed(group, "float8_e4m3fn"),
            scalar(group, "weight_scale", None),
            *((scalar(group, "input_scale", None),) if static else ()),
        )

    return stored
