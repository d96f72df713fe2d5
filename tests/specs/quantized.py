"""A small model to quantize, and its projections as rows and columns."""

from typing import Any

from kvplan.core.model import ModelSpec
from kvplan.specs.build import build

SMALL: dict[str, Any] = {
    "model_type": "qwen2",
    "architectures": ["Qwen2ForCausalLM"],
    "hidden_size": 256,
    "intermediate_size": 512,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "vocab_size": 1000,
    "torch_dtype": "bfloat16",
}
# per layer: q and o 256 · 256, k and v 128 · 256, three of 512 · 256
PROJECTIONS = [(256, 256), (256, 256), (128, 256), (128, 256), (512, 256), (512, 256), (256, 512)]
ENDS = 2 * 2 * 1000 * 256  # embeddings and output projection, two bytes each
REST = ENDS + 2 * (256 + 2 * (2 * 256 + 256 + 2 * 128))  # and norms, biases of q, k, v


def small(quantization: dict[str, Any], **config: Any) -> ModelSpec:
    return build(SMALL | config | {"quantization_config": quantization}, where="c")


def dtypes(spec: ModelSpec) -> dict[str, list[str]]:
    """The element types of each module's weight, layer by layer."""
    found: dict[str, list[str]] = {}
    for layer in spec.layers():
        for group in layer.weights:
            if group.role not in ("scale", "norm") and group.name.endswith(".weight"):
                found.setdefault(group.name.removesuffix(".weight"), []).append(group.dtype or spec.stored_dtype)
    return found
