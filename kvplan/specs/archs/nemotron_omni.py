"""Nemotron Nano Omni: RADIO for images, Parakeet for audio where there is one, a hybrid decoder.

Source: transformers 5.24 models/nemotron_h_omni.
"""

from kvplan.core.model import ModelSpec
from kvplan.specs.config import Config
from kvplan.specs.parts.blocks import Groups, norm
from kvplan.specs.parts.multimodal import joined, mlp_projector, tower
from kvplan.specs.parts.nested import amended, language_model
from kvplan.specs.parts.tower import part

MODEL_TYPES = ("nemotron_h_omni",)
_OLD_NAMES = {"llm_config": "text_config", "sound_config": "audio_config", "vit_hidden_size": "vision_hidden_size"}


def build(cfg: Config) -> ModelSpec:
    """The language model inside is whole: its own config decides on tied embeddings. Older configs have other names."""
    cfg = cfg.with_defaults({new: cfg.data[old] for old, new in _OLD_NAMES.items() if cfg.has(old) and not cfg.has(new)})
    inner = cfg.sub("text_config")
    text = language_model(cfg, default_type="nemotron_h", tied=inner.flag("tie_word_embeddings", default=False))
    whole = cfg if cfg.has("vision_config") else amended(cfg, vision_config={"video_temporal_patch_size": 2})
    width, hidden = cfg.integer("vision_hidden_size", default=1280), text.hidden_size
    ratio = cfg.number("downsample_ratio", default=0.5)
    if not 2**-10 < ratio <= 1:
        raise cfg.error("downsample_ratio", f"expected a fraction of 1, found {ratio}")
    merged = width * int(1 / ratio) ** 2
    predicts = inner.integer("num_nextn_predict_layers", default=0, least=0) > 0
    groups: tuple[Groups, ...] = (
        part("vision_model", tower(whole, kind="radio").groups, "vision"),
        norm("vision_final_layernorm", width, bias=True) if predicts else (),
        _projector("multi_modal_projector", (merged, cfg.integer("projector_hidden_size", default=4096), hidden), bias=False),
    )
    return joined(text, *groups, *(_hearing(cfg, hidden) if cfg.has("audio_config") else ()))


def _hearing(cfg: Config, hidden: int) -> tuple[Groups, Groups]:
    sizes = cfg.sub("audio_config").with_defaults({"attention_bias": False})
    audio = tower(amended(cfg, audio_config=dict(sizes.data)), "audio_config", kind="parakeet_encoder")
    widths = (audio.width, sizes.integer("projection_hidden_size"), hidden)
    projector = _projector("embed_audio", widths, bias=sizes.flag("projection_bias", default=False))
    return part("audio_tower", audio.groups, "audio"), projector


def _projector(name: str, widths: tuple[int, int, int], *, bias: bool) -> Groups:
    """An RMS norm and two linear layers."""
    return part(name, (*norm("layer_norm", widths[0]), *mlp_projector(*widths, bias=bias)), "projector")
