"""DeepSeek-OCR 2 and Unlimited-OCR: SAM, a second encoder on its features, DeepSeek-V2's decoder without latent attention.

Source: transformers 5.24 models/{deepseek_ocr2,unlimited_ocr}; Wei et al. 2025, arXiv:2510.18234 §3.
"""

from kvplan.core.model import ModelSpec
from kvplan.specs.config import Config
from kvplan.specs.parts.blocks import Groups, linear
from kvplan.specs.parts.multimodal import joined, tower
from kvplan.specs.parts.nested import amended, filled, text_config, text_model
from kvplan.specs.parts.tower import Tower, parameter, part

MODEL_TYPES = ("deepseek_ocr2", "unlimited_ocr")
_QUERIES = (144, 256)  # of DeepSeek-OCR 2, for an image of 768 and of 1024 pixels


def build(cfg: Config) -> ModelSpec:
    """Unlimited-OCR keeps the whole prompt and a window of what it wrote: planned here as if it kept all."""
    kind = cfg.text("model_type")
    key = "language_config" if cfg.has("language_config") and not cfg.has("text_config") else "text_config"
    inner = _text(filled(text_config(cfg, key), f"{kind}_text"), first=1 if kind == "unlimited_ocr" else 0)
    text = text_model(inner, kind="deepseek_v2", tied=cfg.flag("tie_word_embeddings", default=False))
    towers, width = _towers(cfg.sub("vision_config"), kind)
    hidden = text.hidden_size
    if kind == "unlimited_ocr":
        width += tower(cfg.sub("vision_config"), "sam_config", kind="unlimited_ocr_sam_vision_model").width
    marks: Groups = (parameter("view_separator", hidden), *((parameter("image_newline", hidden),) if kind == "unlimited_ocr" else ()))
    projector = (*marks, *linear("multi_modal_projector", hidden, width, role="projector", bias=True))
    return joined(text, part("vision_tower", towers, "vision"), part("model", projector, "projector"))


def _text(cfg: Config, *, first: int) -> Config:
    """The text config as DeepSeek-V2's adapter reads it. Raises ConfigError where dense layers follow sparse ones."""
    if cfg.has("mlp_layer_types"):
        kinds = cfg.texts("mlp_layer_types")
        first = sum(kind == "dense" for kind in kinds)
        if kinds != ("dense",) * first + ("sparse",) * (len(kinds) - first):
            raise cfg.error("mlp_layer_types", "expected the dense layers first")
    first = cfg.integer("first_k_dense_replace", default=first, least=0)
    n_heads = cfg.integer("num_attention_heads")
    head_dim = max(1, cfg.integer("hidden_size") // n_heads)
    return amended(cfg, use_mla=False, first_k_dense_replace=first, head_dim=head_dim, layer_types=None, mlp_layer_types=None)


def _towers(cfg: Config, kind: str) -> tuple[Groups, int]:
    """SAM and the second encoder, with DeepSeek-OCR 2's queries; the width is the second one's."""
    sam = tower(cfg, "sam_config", kind=f"{kind}_sam_vision_model")
    second: Tower = tower(
        cfg, "encoder_config", kind="unlimited_ocr_vision_encoder" if kind == "unlimited_ocr" else "deepseek_ocr2_encoder"
    )
    queries = () if kind == "unlimited_ocr" else tuple(parameter(f"query_{n}.weight", n, second.width) for n in _QUERIES)
    return (*part("sam_encoder", sam.groups, "vision"), *part("vision_encoder", second.groups, "vision"), *queries), second.width
