"""Mistral's vision-language models: Pixtral's encoder, a norm, a merger of neighboring patches, two linear layers.

Source: transformers 5.24 models/{mistral3,mistral_large4,lighton_ocr}; Agrawal et al. 2024, arXiv:2410.07073 §2.
"""

from typing import NamedTuple

from kvplan.core.model import ModelSpec
from kvplan.specs.config import Config
from kvplan.specs.parts.blocks import linear, norm
from kvplan.specs.parts.multimodal import any_tower, joined, mlp_projector, n_feature_layers
from kvplan.specs.parts.nested import language_model
from kvplan.specs.parts.tower import part


class _Kind(NamedTuple):
    text: str
    tied: bool
    vision_name: str = "vision_tower"
    projector_name: str = "multi_modal_projector"


_KINDS = {
    "mistral3": _Kind("mistral", tied=True),
    "mistral_large4": _Kind("mistral_large4_text", tied=False),
    "lighton_ocr": _Kind("qwen3", tied=True, vision_name="vision_encoder", projector_name="vision_projection"),
}
MODEL_TYPES = ("mistral3", "mistral_large4", "lighton_ocr")


def build(cfg: Config) -> ModelSpec:
    """``spatial_merge_size``² patches become one; LightOnOCR reads one layer of the tower and has no biases."""
    kind = _KINDS[cfg.text("model_type")]
    text = language_model(cfg, default_type=kind.text, tied=cfg.flag("tie_word_embeddings", default=kind.tied))
    vision = any_tower(cfg, default="pixtral")
    several = kind.projector_name == "multi_modal_projector"
    width = vision.width * (n_feature_layers(cfg, default=1) if several else 1)
    bias = several and cfg.flag("multimodal_projector_bias", default=False)
    merged = vision.width * cfg.integer("spatial_merge_size", default=2) ** 2
    projector = (
        *norm("norm", vision.width),
        *linear("patch_merger.merging_layer", vision.width, merged, role="projector"),
        *mlp_projector(width, text.hidden_size, text.hidden_size, bias=bias),
    )
    return joined(text, part(kind.vision_name, vision.groups, "vision"), part(kind.projector_name, projector, "projector"))
