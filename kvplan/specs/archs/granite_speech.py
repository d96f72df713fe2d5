"""Granite Speech: a conformer, a querying transformer over windows of frames, any language model.

Source: transformers 5.24 models/{granite_speech,granite_speech_plus}; arXiv:2505.08699 §2.
"""

from kvplan.core.model import ModelSpec
from kvplan.specs.config import Config
from kvplan.specs.parts.blocks import linear
from kvplan.specs.parts.multimodal import joined, tower
from kvplan.specs.parts.nested import language_model
from kvplan.specs.parts.qformer import qformer
from kvplan.specs.parts.tower import parameter, part

MODEL_TYPES = ("granite_speech", "granite_speech_plus")


def build(cfg: Config) -> ModelSpec:
    """The low-rank adapter of ``has_lora_adapter`` is loaded apart and not counted, as in the class."""
    kind = cfg.text("model_type")
    text = language_model(cfg, default_type="granite", tied=cfg.flag("tie_word_embeddings", default=True))
    encoder, sizes = tower(cfg, "encoder_config", kind=f"{kind}_encoder"), cfg.sub("projector_config")
    queries = cfg.integer("window_size", default=15) // cfg.integer("downsample_rate", default=5)
    width = sizes.integer("hidden_size", default=768)
    projector = (
        parameter("query", queries, width),
        *part("qformer", qformer(sizes), "projector"),
        *linear("linear", text.hidden_size, width, role="projector", bias=True),
    )
    return joined(text, part("encoder", encoder.groups, "audio"), part("projector", projector, "projector"))
