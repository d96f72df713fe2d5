"""Quantized checkpoints by arithmetic: one file a method says how its layouts store a linear layer."""

from kvplan.core.model import ModelSpec
from kvplan.specs.config import Config


def quantized(spec: ModelSpec, cfg: Config) -> ModelSpec:
    """``spec`` as ``quantization_config`` stores it; refuses a method that no file here knows."""
    return spec._replace(quantization=cfg.text("quant_method", default="?"), exact=False)
