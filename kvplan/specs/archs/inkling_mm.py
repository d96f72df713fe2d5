"""Inkling and Inkling 2 with their encoders, whose features are as wide as the language model.

Source: transformers 5.24 models/{inkling,inkling2,inkling2_loop}.
"""

from kvplan.core.model import ModelSpec
from kvplan.specs.config import Config
from kvplan.specs.parts.multimodal import any_tower, joined, tower
from kvplan.specs.parts.nested import amended, language_model
from kvplan.specs.parts.tower import part

MODEL_TYPES = ("inkling_mm_model", "inkling2", "inkling2_loop")
_TEXTS = {"inkling_mm_model": "inkling_text", "inkling2": "inkling2_text", "inkling2_loop": "inkling2_loop_text"}


def build(cfg: Config) -> ModelSpec:
    """The first generation also hears: it has a table of audio codes."""
    kind = cfg.text("model_type")
    text = language_model(cfg, kind=_TEXTS[kind], tied=cfg.flag("tie_word_embeddings", default=False))
    if kind == "inkling2_loop" and not cfg.has("vision_config"):
        cfg = amended(cfg, vision_config={"text_hidden_size": 2304})
    vision = tower(cfg, kind="inkling_vision") if kind == "inkling_mm_model" else any_tower(cfg, default="inkling2_vision")
    seen = part("vision_tower", vision.groups, "vision")
    if kind != "inkling_mm_model":
        return joined(text, seen)
    return joined(text, seen, part("audio_tower", tower(cfg, "audio_config", kind="inkling_audio").groups, "audio"))
