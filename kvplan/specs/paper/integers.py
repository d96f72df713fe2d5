"""Integers of 4 and 8 bits in the layouts that vLLM and Transformers read: AWQ, GPTQ, compressed-tensors."""

from kvplan.specs.paper import Scheme, layout, published

NAMES = ("int4", "w4a16", "int8", "w8a8", "w8a16", "awq", "gptq", "gptq_int4", "gptq_int8")

_SAME = {"w4a16": "int4", "w8a8": "int8", "w8a16": "int8", "gptq_int4": "gptq"}
_GROUPS = {"num_bits": 4, "type": "int", "symmetric": True, "strategy": "group", "group_size": 128}
_CHANNELS = {"num_bits": 8, "type": "int", "symmetric": True, "strategy": "channel"}
_CONFIGS: dict[str, dict[str, object]] = {
    "int4": {"quant_method": "compressed-tensors", "format": "pack-quantized", "config_groups": {"group_0": {"weights": _GROUPS}}},
    "int8": {"quant_method": "compressed-tensors", "format": "int-quantized", "config_groups": {"group_0": {"weights": _CHANNELS}}},
    "awq": {"quant_method": "awq", "bits": 4, "group_size": 128, "zero_point": True},
    "gptq": {"quant_method": "gptq", "bits": 4, "group_size": 128},
    "gptq_int8": {"quant_method": "gptq", "bits": 8, "group_size": 128},
}
_OF_GPTQ = "groups of 128 with a float16 scale and a zero point each, and a group index for each input"
_SAYS = {
    "int4": ("projections of the layers in 4-bit groups of 128 with a scale in {rest} each", "llm-compressor's W4A16"),
    "int8": ("projections of the layers in 8 bits with a scale for each output", "llm-compressor's W8A8 or W8A16"),
    "awq": ("projections of the layers in 4-bit groups of 128 with a float16 scale and a zero point each", "llm-compressor's AWQModifier"),
    "gptq": (f"projections of the layers in 4-bit {_OF_GPTQ}", "GPTQModel"),
    "gptq_int8": (f"projections of the layers in 8-bit {_OF_GPTQ}", "GPTQModel"),
}


def scheme(name: str) -> Scheme:
    """Groups of 128 where there are groups, as published checkpoints have them."""
    name = _SAME.get(name, name)
    return published(name, *_SAYS[name], layout(_CONFIGS[name]))
