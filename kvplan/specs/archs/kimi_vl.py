"""Kimi-VL, Kimi-K2.5 and Kimi-K3: MoonViT, a merger of neighboring patches, two linear layers, a mixture of experts.

Source: transformers 5.24 models/kimi_k25; modeling_kimi_vl.py of moonshotai/Kimi-VL-A3B-Instruct; for Kimi-K3 the config
and the total of moonshotai/Kimi-K3.
"""

from math import prod

from kvplan.core.model import ModelSpec
from kvplan.specs.config import Config
from kvplan.specs.parts.blocks import Groups, linear, norm
from kvplan.specs.parts.multimodal import joined, tower
from kvplan.specs.parts.nested import language_model
from kvplan.specs.parts.tower import part

MODEL_TYPES = ("kimi_k25", "kimi_vl", "kimi_k3")
_TOWERS = {"kimi_k25": "kimi_k25_vision", "kimi_vl": "moonvit", "kimi_k3": "kimi_k3_vision"}


def build(cfg: Config) -> ModelSpec:
    """Kimi-K2.5 ties its embeddings unless its config says otherwise, as its class does."""
    kind = cfg.text("model_type")
    tied = cfg.flag("tie_word_embeddings", default=kind == "kimi_k25")
    text = language_model(cfg, default_type="kimi_linear" if kind == "kimi_k3" else "deepseek_v3", tied=tied)
    vision = tower(cfg, kind=_TOWERS[kind])
    name = "multi_modal_projector" if kind == "kimi_vl" else "mm_projector"
    return joined(
        text,
        part("vision_tower", vision.groups, "vision"),
        part(name, _projector(cfg.sub("vision_config"), vision.width, text.hidden_size), "projector"),
    )


def _projector(cfg: Config, width: int, hidden: int) -> Groups:
    """The second version (``patchmergerv2``) has no biases and normalizes what comes out instead of what goes in."""
    kernel = cfg.integers("merge_kernel_size", default=(2, 2), least=1)
    merged = width * prod(kernel)
    second = cfg.text("mm_projector_type", default="patchmerger") == "patchmergerv2"
    layers: Groups = (
        *linear("in_proj", merged, merged, role="projector", bias=not second),
        *linear("out_proj", hidden, merged, role="projector", bias=not second),
    )
    return (*layers, *norm("post_norm", hidden)) if second else (*norm("pre_norm", width, bias=True), *layers)
