"""NVIDIA Model Optimizer: FP8, NVFP4, MXFP8 and their kin, for all modules or listed one by one.

Source: NVIDIA Model Optimizer 0.45 torch/export/{unified_export_hf,quant_utils}.py; vLLM 0.33 layers/quantization/modelopt.py.
"""

from kvplan.specs.config import Config
from kvplan.specs.modelopt_algorithms import MIXED, listed_parts, rule_of
from kvplan.specs.quantization import Recipe

METHODS = ("modelopt", "modelopt_fp4", "modelopt_mixed")
IGNORES = ("ignore", "exclude_modules")


def recipe(cfg: Config) -> Recipe:
    """``quant_algo`` of the whole checkpoint, or of each of ``quantized_layers``; none where the cache alone has scales.

    Raises ConfigError where it is missing or another.
    """
    if not cfg.has("quant_algo") and _kv_cache_is_fp8(cfg):
        return Recipe(None, kv_scales=True)
    algorithm, parts = cfg.text("quant_algo"), listed_parts(cfg)
    if algorithm == MIXED and not parts:
        raise cfg.error("quantized_layers", f"missing: expected the algorithm of each module, as quant_algo is {MIXED}")
    rest = None if algorithm == MIXED else rule_of(cfg, algorithm)
    return Recipe(rest, parts, kv_scales=_kv_cache_is_fp8(cfg))


def _kv_cache_is_fp8(cfg: Config) -> bool:
    """``kv_cache_quant_algo`` in a file of the tool's own, ``kv_cache_scheme`` in a config; some put the one's value into the other."""
    if cfg.has("kv_cache_quant_algo"):
        return cfg.text("kv_cache_quant_algo") == "FP8"
    scheme = cfg.data.get("kv_cache_scheme")
    return scheme == "FP8" or (isinstance(scheme, dict) and cfg.sub("kv_cache_scheme").integer("num_bits", default=8) == 8)
