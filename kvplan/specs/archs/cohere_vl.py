"""Aya Vision and Command A Vision: SigLIP, pixel shuffle, and a gated pair of linear layers.

Source: transformers 5.24 models/{aya_vision,cohere2_vision}; Dash et al. 2025, arXiv:2505.08751 §2.
"""

from kvplan.core.model import ModelSpec
from kvplan.specs.config import Config
from kvplan.specs.parts.blocks import linear, norm
from kvplan.specs.parts.multimodal import any_tower, joined
from kvplan.specs.parts.nested import language_model
from kvplan.specs.parts.tower import part

MODEL_TYPES = ("aya_vision", "cohere2_vision")


def build(cfg: Config) -> ModelSpec:
    """The second layer sees half of ``alignment_intermediate_size``: the other half is its gate. Aya norms the input."""
    aya = cfg.text("model_type") == "aya_vision"
    text = language_model(cfg, default_type="cohere2", tied=cfg.flag("tie_word_embeddings", default=True))
    vision = any_tower(cfg, default="siglip_vision_model")
    width = vision.width * cfg.integer("downsample_factor", default=2) ** 2
    inner = cfg.integer("alignment_intermediate_size", default=text.hidden_size if aya else 36864)
    projector = (
        *(norm("layernorm", width, bias=True) if aya else ()),
        *linear("linear_1", inner, width, role="projector", bias=True),
        *linear("linear_2", text.hidden_size, inner // 2, role="projector", bias=True),
    )
    return joined(text, part("vision_tower", vision.groups, "vision"), part("multi_modal_projector", projector, "projector"))
