"""Muse Glimmer and Muse Spark with their encoders.

Source: transformers 5.24 models/{muse_glimmer,muse_spark}.
"""

from kvplan.core.model import ModelSpec
from kvplan.specs.config import Config
from kvplan.specs.parts.blocks import linear
from kvplan.specs.parts.multimodal import joined, mlp_projector, tower
from kvplan.specs.parts.nested import language_model
from kvplan.specs.parts.tower import part

MODEL_TYPES = ("muse_glimmer", "muse_spark")


def build(cfg: Config) -> ModelSpec:
    """The adapter's input is ``out_hidden_size``: merged patches. Spark never ties its embeddings."""
    kind = cfg.text("model_type")
    tied = kind == "muse_glimmer" and cfg.flag("tie_word_embeddings", default=False)
    text = language_model(cfg, kind=f"{kind}_text", tied=tied)
    inner = cfg.integer("projector_hidden_size", default=4096)
    adapter = mlp_projector(cfg.integer("out_hidden_size", default=6144), inner, inner, bias=False, name="vision_adapter.fc")
    parts = (
        part("vision_tower", tower(cfg, kind=f"{kind}_vision").groups, "vision"),
        adapter,
        linear("vision_projection", text.hidden_size, inner, role="projector"),
    )
    if kind == "muse_glimmer":
        return joined(text, *parts)
    return joined(text, *parts, part("audio_tower", tower(cfg, "audio_config", kind="muse_spark_audio").groups, "audio"))
