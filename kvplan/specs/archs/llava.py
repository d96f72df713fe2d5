"""LLaVA and its kin: any vision tower, a two-layer projector, any language model.

Source: transformers 5.24 models/{llava,llava_next,llava_next_video,llava_onevision,vipllava,video_llava,fast_vlm};
Liu et al. 2023, arXiv:2310.03744 §3.2 (projector).
"""

from kvplan.core.model import ModelSpec
from kvplan.specs.config import Config
from kvplan.specs.parts.blocks import Groups, norm
from kvplan.specs.parts.llava_flat import flat_llava
from kvplan.specs.parts.multimodal import any_tower, joined, mlp_projector, n_feature_layers, tied_to_text
from kvplan.specs.parts.nested import language_model
from kvplan.specs.parts.tower import parameter, part

_TOWERS = {"llava_onevision": "siglip_vision_model", "fast_vlm": "timm_wrapper"}
_TEXTS = {"llava_onevision": "qwen2", "fast_vlm": "qwen2"}
_NEWLINE = ("llava_next", "llava_next_video", "llava_onevision")
_CONFIG_CLASSES = ("llava", "llava_next", "llava_next_video", "llava_onevision", "vipllava", "video_llava", "fast_vlm")
_TIED_AS_TEXT = ("llava", "llava_next_video", "llava_onevision", "fast_vlm")
MODEL_TYPES = (
    "llava",
    "llava_next",
    "llava_next_video",
    "llava_onevision",
    "vipllava",
    "video_llava",
    "fast_vlm",
    "llava_llama",
    "llava_mistral",
    "llava_qwen",
)


def build(cfg: Config) -> ModelSpec:
    """``vision_feature_layer`` may list several layers, whose features are concatenated; without a text_config see ``flat_llava``."""
    kind = cfg.text("model_type")
    if not cfg.has("text_config") and (cfg.has("mm_hidden_size") or kind not in _CONFIG_CLASSES):
        return flat_llava(cfg)
    tied = tied_to_text(cfg, default=False) if kind in _TIED_AS_TEXT else cfg.flag("tie_word_embeddings", default=False)
    text = language_model(cfg, default_type=_TEXTS.get(kind, "llama"), tied=tied)
    tower = any_tower(cfg, default=_TOWERS.get(kind, "clip_vision_model"))
    width = tower.width * n_feature_layers(cfg, default=5 if kind == "vipllava" else 1)
    return joined(text, *_towers(kind, tower.groups), *_projector(cfg, kind, width, text.hidden_size))


def _towers(kind: str, groups: Groups) -> tuple[Groups, ...]:
    """Video-LLaVA has a tower of the same shape for images and for videos."""
    names = ("image_tower", "video_tower") if kind == "video_llava" else ("vision_tower",)
    return tuple(part(name, groups, "vision") for name in names)


def _projector(cfg: Config, kind: str, width: int, hidden: int) -> tuple[Groups, ...]:
    """Two linear layers; ViP-LLaVA norms their input, the high-resolution models learn a line break."""
    bias = kind == "vipllava" or cfg.flag("multimodal_projector_bias", default=True)
    before = norm("projector_layernorm", width, bias=True) if kind == "vipllava" else ()
    groups = part("multi_modal_projector", (*before, *mlp_projector(width, hidden, hidden, bias=bias)), "projector")
    newline = (parameter("image_newline", hidden)._replace(role="projector"),) if kind in _NEWLINE else ()
    return groups, newline
