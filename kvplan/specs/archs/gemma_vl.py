"""PaliGemma, Gemma 3 and Gemma 4 with their towers.

Source: transformers 5.24 models/{paligemma,gemma3,shieldgemma2,gemma4,gemma4_unified}; Gemma 3 report, arXiv:2503.19786 §2.1.
"""

from kvplan.core.model import ModelSpec
from kvplan.specs.config import Config
from kvplan.specs.parts.blocks import Groups, linear, norm
from kvplan.specs.parts.multimodal import any_tower, joined, tower
from kvplan.specs.parts.nested import language_model
from kvplan.specs.parts.tower import parameter, part

MODEL_TYPES = ("paligemma", "gemma3", "shieldgemma2", "gemma4", "gemma4_unified")
_TEXTS = {"gemma3": "gemma3_text", "shieldgemma2": "gemma3_text", "gemma4": "gemma4_text", "gemma4_unified": "gemma4_unified_text"}


def build(cfg: Config) -> ModelSpec:
    """Embeddings are tied unless the outer config says otherwise."""
    kind = cfg.text("model_type")
    tied = kind == "shieldgemma2" or cfg.flag("tie_word_embeddings", default=True)
    text = language_model(cfg, default_type="gemma", kind=_TEXTS.get(kind, ""), tied=tied)
    if kind == "gemma4":
        return joined(text, *_gemma4(cfg, text.hidden_size))
    if kind == "gemma4_unified":
        return joined(text, *_unified(cfg, text.hidden_size))
    vision = any_tower(cfg, default="siglip_vision_model")
    projector = _pali(cfg, vision.width) if kind == "paligemma" else _gemma3(vision.width, text.hidden_size)
    return joined(text, part("vision_tower", vision.groups, "vision"), part("multi_modal_projector", projector, "projector"))


def _pali(cfg: Config, width: int) -> Groups:
    return linear("linear", cfg.integer("projection_dim", default=2048), width, role="projector", bias=True)


def _gemma3(width: int, hidden: int) -> Groups:
    """A norm of the pooled features and a projection, kept transposed."""
    return *norm("mm_soft_emb_norm", width), parameter("mm_input_projection_weight", width, hidden)


def _gemma4(cfg: Config, hidden: int) -> tuple[Groups, ...]:
    """A tower and a projection for each modality whose config is there."""
    groups: tuple[Groups, ...] = ()
    for modality, name, embedder in (("vision", "vision_tower", "embed_vision"), ("audio", "audio_tower", "embed_audio")):
        if not cfg.has(f"{modality}_config"):
            continue
        found = tower(cfg, f"{modality}_config", kind=f"gemma4_{modality}")
        width = cfg.sub(f"{modality}_config").integer("output_proj_dims", default=found.width)
        projection = linear(f"{embedder}.embedding_projection", hidden, width, role="projector")
        groups = (*groups, part(name, found.groups, "vision" if modality == "vision" else "audio"), projection)
    return groups


def _unified(cfg: Config, hidden: int) -> tuple[Groups, ...]:
    """No towers: patches of pixels and frames of a waveform are projected as they are."""
    groups: tuple[Groups, ...] = ()
    if cfg.has("vision_config"):
        groups = (part("embed_vision", _pixels(cfg.sub("vision_config"), hidden), "projector"),)
    if cfg.has("audio_config"):
        audio = cfg.sub("audio_config")
        width = audio.integer("audio_embed_dim", "output_proj_dims", "hidden_size", "audio_samples_per_token", default=640)
        groups = (*groups, linear("embed_audio.embedding_projection", hidden, width, role="projector"))
    return groups


def _pixels(cfg: Config, hidden: int) -> Groups:
    width, side = cfg.integer("mm_embed_dim", default=3840), _model_patch(cfg)
    return (
        *norm("patch_ln1", 3 * side**2, bias=True),
        *linear("patch_dense", width, 3 * side**2, role="projector", bias=True),
        *norm("patch_ln2", width, bias=True),
        parameter("pos_embedding", cfg.integer("mm_posemb_size", default=1120), 2, width),
        *norm("pos_norm", width, bias=True),
        *linear("multimodal_embedder.embedding_projection", hidden, cfg.integer("output_proj_dims", default=3840), role="projector"),
    )


def _model_patch(cfg: Config) -> int:
    """Pixels on a side of what the model sees as one patch: patch_size · pooling_kernel_size."""
    return cfg.integer("patch_size", default=16) * cfg.integer("pooling_kernel_size", default=3)
