"""What engines read of a config beside the architecture: how far positions are stretched, in which type the cache is wanted."""

from collections.abc import Iterator

from kvplan.core.model import ModelSpec
from kvplan.core.rope import RopeScaling
from kvplan.specs.config import Config

NESTED = ("", "text_config", "llm_config", "language_config", "thinker_config")
_ROPE = ("rope_parameters", "rope_scaling")
_TRAINED = "original_max_position_embeddings"
_ALREADY_SCALED = "gemma3"  # transformers 5.24 models/gemma3: max_position_embeddings is what the stretched positions reach


def served(spec: ModelSpec, cfg: Config) -> ModelSpec:
    """``spec`` with the rope scalings of its language model and the cache type that its quantization asks for."""
    inner = [place for key in NESTED if (place := cfg.sub(key) if key else cfg).data]
    rope = tuple(dict.fromkeys(scaling for place in inner for scaling in scalings(place, spec)))
    return spec._replace(rope=rope, kv_dtype=next((name for place in inner if (name := _cache_type(place))), None))


def scalings(cfg: Config, spec: ModelSpec) -> Iterator[RopeScaling]:
    """Each distinct way of rotating; plain ones are named ``default`` where layers differ. Raises ConfigError for what is no number."""
    for key in _ROPE:
        if not isinstance(cfg.data.get(key), dict):
            continue
        given = cfg.sub(key)
        kinds = [given.sub(name) for name, value in given.data.items() if isinstance(value, dict)]
        for place in kinds or [given]:
            kind = str(place.data.get("rope_type") or place.data.get("type") or "default")
            from_here = next((one for one in (place, cfg) if one.data.get(_TRAINED)), None)
            if kind != "default" or kinds:
                yield RopeScaling(
                    kind,
                    place.number("factor", default=1.0),
                    None if from_here is None else from_here.integer(_TRAINED),
                    applied=spec.model_type.startswith(_ALREADY_SCALED),
                )
        return


def _cache_type(cfg: Config) -> str | None:
    """``fp8`` where the quantized checkpoint declares scales of a cache of 8 bits.

    Source: vllm 0.33 utils/torch_utils.py, resolve_kv_cache_dtype_string.
    """
    for key in ("quantization_config", "compression_config"):
        given = cfg.data.get(key)
        if not isinstance(given, dict):
            continue
        scheme = given.get("kv_cache_scheme")
        if isinstance(scheme, dict) and scheme.get("num_bits", 8) == 8 and scheme.get("type", "float") == "float":
            return "fp8"
        nested = given.get("quantization")
        algorithm = given.get("kv_cache_quant_algo") or (nested.get("kv_cache_quant_algo") if isinstance(nested, dict) else None)
        if isinstance(algorithm, str):
            return {"fp8": "fp8", "nvfp4": "nvfp4"}.get(algorithm.lower())
    return None
