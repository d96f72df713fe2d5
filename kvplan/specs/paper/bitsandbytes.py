"""bitsandbytes, which quantizes any checkpoint while it is loaded: nf4, fp4, LLM.int8()."""

from kvplan.specs.paper import LEFT_ALONE, OFF_BY, Scheme, layout

NAMES = ("nf4", "fp4", "bnb_4bit", "nf4_double", "bnb_8bit", "llm_int8")

_SAME = {"bnb_4bit": "nf4", "llm_int8": "bnb_8bit"}
_DOUBLE, _FLOAT4 = ", bnb_4bit_use_double_quant=True", "load_in_4bit=True, bnb_4bit_quant_type='nf4'"
_BLOCKS = "projections of the layers in 4 bits with a float32 maximum for 64 elements"
_SAYS = {
    "nf4": (_BLOCKS, _FLOAT4),
    "fp4": (_BLOCKS, "load_in_4bit=True"),
    "nf4_double": ("projections of the layers in 4 bits with an 8-bit maximum for 64 elements", _FLOAT4 + _DOUBLE),
    "bnb_8bit": ("projections of the layers in 8 bits with a float32 maximum for each output", "load_in_8bit=True"),
}
_FOUR_BIT: dict[str, object] = {"quant_method": "bitsandbytes", "load_in_4bit": True}
_CONFIGS: dict[str, dict[str, object]] = {
    "nf4": _FOUR_BIT,
    "fp4": _FOUR_BIT,
    "nf4_double": {**_FOUR_BIT, "bnb_4bit_use_double_quant": True},
    "bnb_8bit": {"quant_method": "bitsandbytes", "load_in_8bit": True},
}


def scheme(name: str) -> Scheme:
    """What BitsAndBytesConfig makes of a model; double quantization only by its own name."""
    name = _SAME.get(name, name)
    says, arguments = _SAYS[name]
    how = f"no checkpoint is needed: pass quantization_config=BitsAndBytesConfig({arguments}) to from_pretrained()"
    return Scheme(name, f"{says}; {LEFT_ALONE}", how, "safetensors", OFF_BY, layout(_CONFIGS[name]))
