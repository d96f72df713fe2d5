"""In which element types a checkpoint lies: its dtype, and what a quantization makes of it."""

from collections.abc import Mapping
from types import ModuleType

from kvplan import _discover
from kvplan.core.dtypes import dtype
from kvplan.core.errors import did_you_mean
from kvplan.core.model import Caveat, ModelSpec
from kvplan.specs.config import Config

METHODS = "kvplan.specs.quantization"
ASSUMED = "float32"
_MLX = "quantization"
_KEYS = ("quantization_config", "compression_config", _MLX)
_OF_MODEL = ("expert_dtype",)  # what a config says of its quantization outside quantization_config
_SMALLEST_SHARE_LESS = 90  # hundredths: under 2 bits of 16, with scales


def stored(spec: ModelSpec, cfg: Config) -> ModelSpec:
    """``spec`` with the element type that the config names, quantized as it says.

    Where no dtype is named: what the quantization method loads with, else float32 with a warning, never less than there is.
    """
    quantization = _quantization(cfg)
    method = None if quantization is None else _method(quantization)
    module = _discover.claimant(METHODS, "METHODS", method) if method else None
    spec = _with_dtype(spec, cfg, module)
    if quantization is None:
        return spec
    if module is None:
        return _unknown_method(spec, quantization, method)
    from kvplan.specs.quantization import quantized

    return quantized(spec, quantization, module)._replace(quantization=method)


def _quantization(cfg: Config) -> Config | None:
    """What the config says of quantization, at the top level or of the language model inside."""
    places = ((place, key) for place in (cfg, cfg.sub("text_config")) for key in _KEYS if place.has(key))
    place, key = next(places, (cfg, ""))
    if not key or (key == _MLX and not isinstance(place.data[key], Mapping)):  # a key that others may use
        return None
    of_model = {name: place.data[name] for name in _OF_MODEL if place.has(name)}
    return place.sub(key).with_defaults(of_model)


def _method(quantization: Config) -> str:
    """The method as named, else the one whose own keys are there: early files of two methods don't name theirs.

    Source: transformers 5.24 quantizers/auto.py, AutoQuantizationConfig.from_dict; mlx-lm 0.28 utils.py, save_config.
    """
    if quantization.has("quant_method"):
        return quantization.text("quant_method")
    if quantization.has("quant_algo"):
        return "modelopt"
    if quantization.has("bits") and quantization.has("group_size"):
        return "mlx"
    bits = ("load_in_8bit", "load_in_4bit")
    return "bitsandbytes" if any(quantization.flag(key, default=False) for key in bits) else "unnamed"


def _with_dtype(spec: ModelSpec, cfg: Config, module: ModuleType | None) -> ModelSpec:
    named = named_dtype(cfg) or named_dtype(cfg.sub("text_config"))
    if named:
        return spec._replace(stored_dtype=named)
    if spec.stored_dtype:  # of a language model whose config lies under another key
        return spec
    by_method: str | None = getattr(module, "LOADS_AS", None)
    if by_method is not None:
        return spec._replace(stored_dtype=by_method)
    caveat = Caveat(
        "KV003",
        "warning",
        f"{cfg.where} names no dtype: weights are counted as {ASSUMED}, what Transformers builds then",
        "say --dtype bfloat16 if the checkpoint is stored so",
    )
    return spec._replace(stored_dtype=ASSUMED, caveats=(*spec.caveats, caveat))


def named_dtype(cfg: Config) -> str:
    """The element type that the mapping itself names, or nothing. Raises RequestError for an unknown one."""
    for key in ("dtype", "torch_dtype"):
        if cfg.has(key) and cfg.text(key) != "auto":
            return dtype(cfg.text(key), where=f"{cfg.where}: {cfg.path}{key}").name
    return ""


def _unknown_method(spec: ModelSpec, quantization: Config, method: str | None) -> ModelSpec:
    known = sorted(_discover.claimants(METHODS, "METHODS"))
    caveat = Caveat(
        "KV004",
        "warning",
        f"{quantization.where}: unknown quantization method '{method}': weights are counted unquantized, an upper bound",
        did_you_mean(method or "", known) or f"known: {', '.join(known)}",
    )
    return spec._replace(quantization=method, exact=False, off_by=(_SMALLEST_SHARE_LESS, 0), caveats=(*spec.caveats, caveat))
