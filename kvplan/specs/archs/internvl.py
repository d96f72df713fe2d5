"""InternVL: InternViT, pixel shuffle, a norm and two linear layers, any language model.

Source: transformers 5.24 models/{internvl,qianfan_ocr}; Chen et al. 2024, arXiv:2404.16821 §3.
"""

from kvplan.core.model import ModelSpec
from kvplan.specs.blocks import norm
from kvplan.specs.config import Config
from kvplan.specs.multimodal import joined, mlp_projector, tower
from kvplan.specs.nested import language_model
from kvplan.specs.tower import part

_TEXTS = {"internvl": "qwen2", "qianfan_ocr": "qwen3"}
MODEL_TYPES = ("internvl", "qianfan_ocr")


def build(cfg: Config) -> ModelSpec:
    """Pixel shuffle turns int(1 / ``downsample_ratio``)² patches into one wider feature."""
    kind = cfg.text("model_type")
    text = language_model(cfg, default_type=_TEXTS[kind], tied=cfg.flag("tie_word_embeddings", default=kind == "internvl"))
    vision = tower(cfg, kind=f"{kind}_vision")
    ratio = cfg.number("downsample_ratio", default=0.5)
    if not 0 < ratio <= 1:
        raise cfg.error("downsample_ratio", f"expected a number above 0 and at most 1, found {ratio}")
    width, hidden = vision.width * int(1 / ratio) ** 2, text.hidden_size
    projector = (*norm("layer_norm", width, bias=True), *mlp_projector(width, hidden, hidden))
    return joined(text, part("vision_tower", vision.groups, "vision"), part("multi_modal_projector", projector, "projector"))
