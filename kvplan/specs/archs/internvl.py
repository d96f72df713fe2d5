"""InternVL: InternViT, pixel shuffle, a norm and two linear layers, any language model.

Source: transformers 5.24 models/{internvl,qianfan_ocr}; modeling_internvl_chat.py of OpenGVLab/InternVL2-8B;
Chen et al. 2024, arXiv:2404.16821 §3.
"""

from kvplan.core.model import ModelSpec
from kvplan.specs.config import Config
from kvplan.specs.parts.blocks import Groups, norm
from kvplan.specs.parts.multimodal import joined, mlp_projector, tower
from kvplan.specs.parts.nested import language_model
from kvplan.specs.parts.tower import part

_TEXTS = {"internvl": "qwen2", "qianfan_ocr": "qwen3"}
MODEL_TYPES = ("internvl", "qianfan_ocr", "internvl_chat")


def build(cfg: Config) -> ModelSpec:
    """Pixel shuffle turns int(1 / ``downsample_ratio``)² patches into one wider feature."""
    kind = cfg.text("model_type")
    if kind == "internvl_chat":
        return _chat(cfg)
    text = language_model(cfg, default_type=_TEXTS[kind], tied=cfg.flag("tie_word_embeddings", default=kind == "internvl"))
    vision = tower(cfg, kind=f"{kind}_vision")
    projector = _projector(cfg, vision.width, text.hidden_size)
    return joined(text, part("vision_tower", vision.groups, "vision"), part("multi_modal_projector", projector, "projector"))


def _chat(cfg: Config) -> ModelSpec:
    """The repositories' own code: a whole language model inside, whose config decides on tied embeddings."""
    inner = cfg.sub("llm_config")
    tied = inner.flag("tie_word_embeddings") if inner.has("tie_word_embeddings") else False
    text = language_model(cfg, "llm_config", tied=tied)
    vision = tower(cfg, kind="intern_vit_6b")
    return joined(
        text,
        part("vision_model", vision.groups, "vision"),
        part("mlp1", _projector(cfg, vision.width, text.hidden_size), "projector"),
    )


def _projector(cfg: Config, width: int, hidden: int) -> Groups:
    """A norm of the merged patches and two linear layers."""
    ratio = cfg.number("downsample_ratio", default=0.5)
    if not 2**-10 < ratio <= 1:
        raise cfg.error("downsample_ratio", f"expected a fraction of 1, found {ratio}")
    merged = width * int(1 / ratio) ** 2
    return (*norm("layer_norm", merged, bias=True), *mlp_projector(merged, hidden, hidden))
