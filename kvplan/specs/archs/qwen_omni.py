"""Qwen's omni models: one that thinks over text, images and audio, and, in the whole models, one that speaks.

Source: transformers 5.24 models/{qwen2_5_omni,qwen3_omni_moe}; Xu et al. 2025, arXiv:2503.20215 §2, arXiv:2509.17765 §2.
"""

from kvplan.core.model import Caveat, ModelSpec
from kvplan.specs.config import Config
from kvplan.specs.parts.blocks import Groups, linear
from kvplan.specs.parts.multimodal import joined, tower
from kvplan.specs.parts.nested import amended, filled, text_config, text_model
from kvplan.specs.parts.tower import part

MODEL_TYPES = ("qwen2_5_omni", "qwen2_5_omni_thinker", "qwen3_omni_moe", "qwen3_omni_moe_thinker")
_LIKE = {"qwen2_5_omni": "qwen2", "qwen3_omni_moe": ""}
_TALKER: dict[str, object] = {
    **{"vocab_size": 8448, "embedding_size": 3584, "hidden_size": 3584, "intermediate_size": 18944, "num_hidden_layers": 28},
    **{"num_attention_heads": 28, "num_key_value_heads": 4, "head_dim": 128, "max_position_embeddings": 32768},
}
_SPEAKING = Caveat(
    "KV010",
    "note",
    "the talker that speaks keeps a cache of its own while it does: only the thinker's is planned here",
    "answers in text alone need no talker",
)
_UNCOUNTED = Caveat(
    "KV009",
    "warning",
    "talker and vocoder are not counted: only the thinker, which is what serving engines load",
    "the checkpoint's index has the exact total",
)


def build(cfg: Config) -> ModelSpec:
    """The thinker alone, or the whole model around it."""
    kind = cfg.text("model_type")
    if kind.endswith("_thinker"):
        return _thinker(cfg, kind.removesuffix("_thinker"))
    thinker = _thinker(cfg.sub("thinker_config"), kind)
    if not cfg.flag("enable_audio_output", default=True):
        return thinker
    if kind == "qwen3_omni_moe":
        return joined(thinker, caveats=(_UNCOUNTED,))
    speaking = (part("talker", _talker(cfg.sub("talker_config")), "audio"), part("token2wav", _token2wav(cfg), "audio"))
    return joined(thinker, *speaking)._replace(caveats=(*thinker.caveats, _SPEAKING))


def _thinker(cfg: Config, kind: str) -> ModelSpec:
    tied = cfg.flag("tie_word_embeddings", default=False)
    text = text_model(_rounded(filled(text_config(cfg), f"{kind}_text")), kind=f"{kind}_text", like=_LIKE[kind], tied=tied)
    audio = tower(cfg, "audio_config", kind=f"{kind}_audio_encoder")
    vision = tower(cfg, kind=f"{kind}_vision_encoder")
    return joined(text, part("audio_tower", audio.groups, "audio"), part("visual", vision.groups, "vision"))


def _rounded(cfg: Config) -> Config:
    """``cfg`` with its heads' width: the class divides rounding down, and its own sizes need that."""
    width = max(1, cfg.integer("hidden_size") // cfg.integer("num_attention_heads"))
    return amended(cfg, head_dim=cfg.integer("head_dim", default=width))


def _talker(cfg: Config) -> Groups:
    """A decoder over codes, whose inputs are the thinker's, projected to its width."""
    cfg = cfg.with_defaults(_TALKER)
    spec = text_model(cfg, kind="qwen2", tied=False)
    embedded = cfg.integer("embedding_size")
    own = tuple(group._replace(cols=embedded) if group.role == "embedding" else group for group in spec.groups())
    return (*own, *linear("thinker_to_talker_proj", spec.hidden_size, embedded, role="audio", bias=True))


def _token2wav(cfg: Config) -> Groups:
    return tower(cfg, "token2wav_config", kind="qwen2_5_omni_token2wav").groups
