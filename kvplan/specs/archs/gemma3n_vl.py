"""Gemma 3n with its towers: MobileNet-V5 for images, a conformer for audio, hard tokens of both beside the soft ones.

Source: transformers 5.24 models/gemma3n/modeling_gemma3n.py (Gemma3nForConditionalGeneration).
"""

from kvplan.core.model import ModelSpec
from kvplan.core.roles import Role
from kvplan.specs.config import Config
from kvplan.specs.parts.blocks import Groups, linear, norm
from kvplan.specs.parts.multimodal import joined, tower
from kvplan.specs.parts.nested import language_model
from kvplan.specs.parts.tower import parameter, part

MODEL_TYPES = ("gemma3n",)


def build(cfg: Config) -> ModelSpec:
    """Both towers are always there; an absent config is one of class defaults."""
    text = language_model(cfg, kind="gemma3n_text", tied=cfg.flag("tie_word_embeddings", default=True))
    return joined(text, *_modality(cfg, "vision", "vision", text.hidden_size), *_modality(cfg, "audio", "audio", text.hidden_size))


def _modality(cfg: Config, name: str, role: Role, hidden: int) -> tuple[Groups, Groups]:
    """A tower, and the embedder of its soft features and hard tokens."""
    found = tower(cfg, f"{name}_config", kind=f"gemma3n_{name}")
    rows = cfg.sub(f"{name}_config").integer("vocab_size", default=128)
    embedder = (
        parameter("embedding.weight", rows, found.width),
        *norm("hard_embedding_norm", found.width),
        *norm("soft_embedding_norm", found.width),
        *linear("embedding_projection", hidden, found.width, role="projector"),
    )
    return part(f"{name}_tower", found.groups, role), part(f"embed_{name}", embedder, "projector")
