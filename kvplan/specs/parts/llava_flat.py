"""LLaVA as its authors publish it: the language model's keys at the top, the vision tower another repository's.

Source: llava/model/{llava_arch,multimodal_projector/builder}.py of haotian-liu/LLaVA at v1.2.2; Liu et al. 2023, arXiv:2310.03744.
"""

import re

from kvplan.core.model import Caveat, ModelSpec
from kvplan.specs.config import Config
from kvplan.specs.parts.blocks import Groups
from kvplan.specs.parts.multimodal import joined, mlp_projector
from kvplan.specs.parts.nested import inner_or_flat, text_model
from kvplan.specs.parts.tower import parameter

_TEXTS = {"llama": "llama", "mistral": "mistral", "qwen": "qwen2", "mpt": "mpt"}


def flat_llava(cfg: Config) -> ModelSpec:
    """The language model and the projector; the tower is not in the file, and a warning says so."""
    name = cfg.class_name() or cfg.text("model_type")
    family = next((text for part, text in _TEXTS.items() if part in name.lower().removeprefix("llava")), "llama")
    spec = text_model(inner_or_flat(cfg), kind=family, tied=cfg.flag("tie_word_embeddings", default=False))
    if not cfg.has("mm_vision_tower"):
        return spec
    seen = cfg.data["mm_vision_tower"]
    caveat = Caveat(
        "KV009",
        "warning",
        f"the vision tower is another repository's ({seen}): its weights are not counted",
        "add its size: CLIP ViT-L is some 0.3 billion parameters",
    )
    return joined(spec, _projector(cfg, spec.hidden_size), caveats=(caveat,))


def _projector(cfg: Config, hidden: int) -> Groups:
    """``linear``, ``identity``, or ``mlpNx_gelu`` of N layers; a learned line break where patches are unpadded."""
    kind, width = cfg.text("mm_projector_type", default="linear"), cfg.integer("mm_hidden_size")
    depth = {"linear": 1, "identity": 0}.get(kind)
    if depth is None:
        found = re.fullmatch(r"mlp(\d{1,3})x_gelu", kind)
        if found is None:
            raise cfg.error("mm_projector_type", f"unknown projector '{kind}'", hint="known: linear, identity, mlp2x_gelu")
        depth = int(found[1])
    newline = "unpad" in cfg.text("mm_patch_merge_type", default="flat")
    mark = (parameter("image_newline", hidden)._replace(role="projector"),) if newline else ()
    return (*mlp_projector(width, *(hidden for _ in range(depth)), name="mm_projector."), *mark)
