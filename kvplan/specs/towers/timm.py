"""Encoders that Transformers takes from timm by name: their structure is timm's, so only the totals of known names are here.

Source: timm 1.0.31, parameters of ``timm.create_model(name, num_classes=0)`` on the meta device; transformers 5.24
models/timm_wrapper, models/gemma3n (Gemma3nVisionConfig).
"""

from kvplan.specs.config import Config
from kvplan.specs.parts.tower import Tower, parameter

MODEL_TYPES = ("timm_wrapper", "gemma3n_vision")
_TOTALS = {"mobilenetv5_300m_enc": 294_126_912, "fastvit_mci3": 122_875_584}
_FUSED = {"fastvit_mci3": 122_714_208}  # with ``inference_mode``, which folds branches into one convolution


def build(cfg: Config) -> Tower:
    """All weights as one group. Raises ConfigError for an architecture without a known total."""
    name = cfg.text("architecture", default="mobilenetv5_300m_enc" if cfg.text("model_type") == "gemma3n_vision" else "")
    if name not in _TOTALS:
        raise cfg.error(
            "architecture", f"timm's '{name}' is not known here: its weights can't be counted", hint=f"known: {', '.join(_TOTALS)}"
        )
    fused = name in _FUSED and cfg.sub("model_args").flag("inference_mode", default=False)
    return Tower((parameter("timm_model", _FUSED[name] if fused else _TOTALS[name]),), cfg.integer("hidden_size", default=2048))
