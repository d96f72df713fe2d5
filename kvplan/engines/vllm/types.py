"""Element types of the model and of its cache, as vLLM resolves them."""

from kvplan.core.device import Node
from kvplan.core.dtypes import dtype
from kvplan.core.errors import RequestError, did_you_mean
from kvplan.core.model import ModelSpec
from kvplan.engines.vllm.flags import CHOICES
from kvplan.engines.vllm.rules import Rules

AUTO = "auto"
_RUNS_IN = ("bfloat16", "float16", "float32")
_KV = {"float8_e4m3fn": "fp8_e4m3", "float8_e5m2": "fp8_e5m2"}  # kvplan's names of types that vLLM's flags call otherwise
_AMPERE = (8, 0)


def model_type(asked: str | None, model: ModelSpec, node: Node, rules: Rules) -> str:
    """The type of activations and unquantized weights: the checkpoint's, of which float32 runs in 16 bits.

    Raises RequestError for a type in which nothing runs. Source: vllm 0.33.0 config/model.py, _resolve_auto_dtype;
    platforms/cuda.py, supported_dtypes: cards before Ampere have no bfloat16.
    """
    if asked is not None and asked != AUTO:
        named = dtype(asked, where="dtype").name
        if named not in _RUNS_IN:
            hint = "weights quantized when they are loaded: -- vllm serve … --quantization fp8" if named.startswith("float8") else ""
            raise RequestError("bad_setting", f"dtype={asked}: vLLM runs in {', '.join(_RUNS_IN)}", hint=hint)
        return named
    capability = node.gpus[0].compute_capability if node.gpus else None
    old_card = capability is not None and capability < _AMPERE
    if model.stored_dtype == "float32" and rules.float32_in_half:
        return "float16"
    if model.stored_dtype == "float16" or (model.stored_dtype == "bfloat16" and not old_card):
        return model.stored_dtype
    return "float16" if old_card else "bfloat16"


def kv_type(asked: str | None) -> str:
    """The type of the cache as vLLM's flag spells it. Raises RequestError with near matches."""
    if asked is None or asked in CHOICES["kv-cache-dtype"]:
        return asked or AUTO
    try:
        named = dtype(asked, where="kv-cache-dtype").name
    except RequestError:
        named = asked
    named = _KV.get(named, named)
    if named not in CHOICES["kv-cache-dtype"]:
        known = CHOICES["kv-cache-dtype"]
        hint = did_you_mean(asked, known) or f"it keeps {', '.join(known)}"
        raise RequestError("bad_setting", f"kv-cache-dtype={asked}: vLLM keeps no such cache", hint=hint)
    return named
