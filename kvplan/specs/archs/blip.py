"""BLIP-2 and InstructBLIP: a vision transformer, queries that read it, any language model.

Source: transformers 5.24 models/{blip_2,instructblip,instructblipvideo}; Li et al. 2023, arXiv:2301.12597; Dai et al. 2023,
arXiv:2305.06500.
"""

from kvplan.core.model import ModelSpec
from kvplan.specs.config import Config
from kvplan.specs.parts.blocks import Groups, linear
from kvplan.specs.parts.multimodal import joined, tower
from kvplan.specs.parts.nested import amended, language_model
from kvplan.specs.parts.qformer import qformer
from kvplan.specs.parts.tower import parameter, part

MODEL_TYPES = ("blip-2", "instructblip", "instructblipvideo")
_TOWERS = {"blip-2": "blip_2_vision_model", "instructblip": "instructblip_vision_model"}


def build(cfg: Config) -> ModelSpec:
    """The language model inside is whole. InstructBLIP's queries read the instruction too, so they have embeddings for text."""
    kind = cfg.text("model_type")
    text = language_model(cfg, default_type="opt")
    vision = tower(cfg, kind=_TOWERS.get(kind, "instructblipvideo_vision_model"))
    sizes = amended(cfg.sub("qformer_config"), encoder_hidden_size=vision.width)
    if kind != "blip-2":
        sizes = amended(sizes, use_qformer_text_input=True)
    width = sizes.integer("hidden_size", default=768)
    reader = (*qformer(sizes), *(_words(sizes, width) if kind != "blip-2" else ()))
    projector = (
        parameter("query_tokens", cfg.integer("num_query_tokens", default=32), width),
        *part("qformer", reader, "projector"),
        *linear("language_projection", text.hidden_size, width, role="projector", bias=True),
    )
    return joined(text, part("vision_model", vision.groups, "vision"), part("model", projector, "projector"))


def _words(cfg: Config, width: int) -> Groups:
    """Embeddings of words and positions; their norm is the one that queries alone have too."""
    return (
        parameter("embeddings.word_embeddings.weight", cfg.integer("vocab_size", default=30522), width),
        parameter("embeddings.position_embeddings.weight", cfg.integer("max_position_embeddings", default=512), width),
    )
