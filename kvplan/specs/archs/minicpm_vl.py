"""MiniCPM-V 4.6, 4.7 and MiniCPM-OCR: an encoder that merges patches early, mergers after it, Qwen3.5's decoder.

Source: transformers 5.24 models/{minicpmv4_6,minicpmv4_7,minicpm_ocr}.
"""

from kvplan.core.model import ModelSpec
from kvplan.specs.config import MAX_LAYERS, Config
from kvplan.specs.parts.blocks import Groups, norm
from kvplan.specs.parts.multimodal import joined, mlp_projector, tower
from kvplan.specs.parts.nested import language_model
from kvplan.specs.parts.tower import part

MODEL_TYPES = ("minicpmv4_6", "minicpmv4_7", "minicpm_ocr")


def build(cfg: Config) -> ModelSpec:
    """``merger_times`` mergers of four patches each, the last into the language model."""
    kind = cfg.text("model_type")
    tied = cfg.flag("tie_word_embeddings", default=kind == "minicpm_ocr")
    text = language_model(cfg, default_type="qwen3_5_text", tied=tied)
    vision = tower(cfg, kind=f"{kind}_vision")
    times = cfg.integer("merger_times", default=1, most=MAX_LAYERS)
    widths = (*(vision.width for _ in range(times - 1)), text.hidden_size)
    mergers = (group for i, width in enumerate(widths) for group in _merger(f"mlp.{i}", vision.width, width))
    return joined(text, part("vision_tower", vision.groups, "vision"), part("merger", tuple(mergers), "projector"))


def _merger(name: str, width: int, out: int) -> Groups:
    merged = 4 * width
    return (*norm(f"{name}.pre_norm", merged, bias=True), *mlp_projector(merged, merged, out, name=f"{name}.linear_"))
