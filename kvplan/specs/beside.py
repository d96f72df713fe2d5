"""A config.json together with the files that lie beside it and bear on memory, on disk and on the Hub alike."""

from collections.abc import Callable, Mapping

from kvplan.core.model import ModelSpec
from kvplan.specs.build import build
from kvplan.specs.config import Config

GENERATION = "generation_config.json"
QUANTIZATION = "hf_quant_config.json"

Beside = Callable[[str], tuple[Mapping[str, object], str] | None]
"""Reads the file of that name: its object, and what errors call it; None where it isn't there."""


def spec_of(config: Mapping[str, object], where: str, beside: Beside) -> ModelSpec:
    """The model of a config, of ModelOpt's hf_quant_config.json and of generation_config.json.

    Raises RequestError for what is no model.
    """
    spec = build(_quantized(config, beside), where=where)
    if config.get("use_cache") is False:
        return spec._replace(use_cache_off_in=where)
    return spec._replace(use_cache_off_in=_cache_off_in(beside))


def merged(config: Mapping[str, object], beside: Beside) -> dict[str, object]:
    """One config that says all that ``spec_of`` reads from several files."""
    off: dict[str, object] = {"use_cache": False} if _cache_off_in(beside) else {}
    return {**_quantized(config, beside), **off}


def _quantized(config: Mapping[str, object], beside: Beside) -> dict[str, object]:
    """ModelOpt writes how weights are quantized into a file of its own, which stands for a missing ``quantization_config``.

    vLLM transformers_utils/config.py does the same.
    """
    found = beside(QUANTIZATION) if config.get("quantization_config") is None else None
    return {**config, "quantization_config": _modelopt(*found)} if found is not None else dict(config)


def _cache_off_in(beside: Beside) -> str | None:
    """The generation_config.json that turns the cache off."""
    generation = beside(GENERATION)
    return generation[1] if generation is not None and generation[0].get("use_cache") is False else None


def _modelopt(data: Mapping[str, object], where: str) -> dict[str, object]:
    return {"quant_method": "modelopt", **Config(data, where=where).sub("quantization").data}
