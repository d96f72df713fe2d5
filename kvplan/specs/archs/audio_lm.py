"""Language models that listen: an audio encoder made of Whisper's, a small projector, any language model.

Source: transformers 5.24 models/{qwen2_audio,audioflamingo3,musicflamingo,glmasr,qwen3_asr,moss_transcribe_diarize,voxtral,
voxtral_realtime}; Chu et al. 2024, arXiv:2407.10759 §2.
"""

from typing import NamedTuple

from kvplan.core.model import ModelSpec, WeightGroup
from kvplan.specs.config import Config
from kvplan.specs.parts.blocks import Groups, linear, norm
from kvplan.specs.parts.multimodal import any_tower, joined, mlp_projector
from kvplan.specs.parts.nested import amended, language_model
from kvplan.specs.parts.tower import Tower, part


class _Kind(NamedTuple):
    """The kinds of encoder and language model by default; ``tied`` None where the class never ties embeddings."""

    audio: str
    text: str = "qwen2"
    tied: bool | None = None
    like: str = ""


_KINDS = {
    "qwen2_audio": _Kind("qwen2_audio_encoder"),
    "audioflamingo3": _Kind("audioflamingo3_encoder"),
    "musicflamingo": _Kind("audioflamingo3_encoder"),
    "glmasr": _Kind("glmasr_encoder", "llama", tied=True),
    "qwen3_asr": _Kind("qwen3_asr_encoder", "qwen3", tied=True),
    "moss_transcribe_diarize": _Kind("moss_transcribe_diarize_audio", "qwen3", tied=True),
    "voxtral": _Kind("voxtral_encoder", "llama"),
    "voxtral_realtime": _Kind("voxtral_realtime_encoder", "voxtral_realtime_text", tied=True, like="mistral"),
}
MODEL_TYPES = (
    "qwen2_audio",
    "audioflamingo3",
    "musicflamingo",
    "glmasr",
    "qwen3_asr",
    "moss_transcribe_diarize",
    "voxtral",
    "voxtral_realtime",
)
_TEXT_DEFAULTS: dict[str, dict[str, object]] = {
    "glmasr": {
        **{"vocab_size": 59264, "hidden_size": 2048, "intermediate_size": 6144, "num_hidden_layers": 28},
        **{"num_attention_heads": 16, "num_key_value_heads": 4, "max_position_embeddings": 8192},
    },
    "voxtral": {
        **{"vocab_size": 131072, "hidden_size": 3072, "intermediate_size": 8192, "num_hidden_layers": 30},
        **{"num_key_value_heads": 8, "max_position_embeddings": 131072, "head_dim": 128},
    },
    "voxtral_realtime": {
        **{"vocab_size": 131072, "hidden_size": 3072, "intermediate_size": 9216, "num_hidden_layers": 26, "num_attention_heads": 32},
        **{"num_key_value_heads": 8, "max_position_embeddings": 131072, "head_dim": 128, "sliding_window": 8192},
    },
}
_ADAPTIVE_RANK = 32  # of the norm that the audio's delay modulates


def build(cfg: Config) -> ModelSpec:
    """Voxtral's and GLM-ASR's text configs are completed from the wrapper's own defaults before those of their class."""
    name = cfg.text("model_type")
    kind = _KINDS[name]
    whole = amended(cfg, text_config=dict(cfg.sub("text_config").with_defaults(_TEXT_DEFAULTS.get(name, {})).data))
    tied = kind.tied is not None and cfg.flag("tie_word_embeddings", default=kind.tied)
    text = language_model(whole, default_type=kind.text, like=kind.like, tied=tied)
    if name == "voxtral_realtime":
        text = _adaptive(text)
    audio = any_tower(_renamed(cfg), "audio_config", default=kind.audio)
    return joined(
        text, part("audio_tower", audio.groups, "audio"), part("multi_modal_projector", _projector(cfg, audio, text), "projector")
    )


def _renamed(cfg: Config) -> Config:
    """Music Flamingo's encoder is Audio Flamingo's under another name, or none."""
    audio = cfg.sub("audio_config")
    if cfg.text("model_type") != "musicflamingo" or audio.text("model_type", default="") not in ("", "musicflamingo_encoder"):
        return cfg
    return amended(cfg, audio_config={**audio.data, "model_type": "audioflamingo3_encoder"})


def _projector(cfg: Config, audio: Tower, text: ModelSpec) -> Groups:
    """One layer, or two: after the second Voxtral's and GLM-ASR's stack as many frames as make ``intermediate_size``."""
    name, sizes, hidden = cfg.text("model_type"), cfg.sub("audio_config"), text.hidden_size
    if name == "qwen2_audio":
        return linear("linear", hidden, audio.width, role="projector", bias=True)
    if name == "qwen3_asr":
        return mlp_projector(audio.width, audio.width, sizes.integer("output_dim", default=3584))
    if name in ("voxtral", "glmasr"):
        stacked = sizes.integer("intermediate_size", "encoder_ffn_dim", default=5120)
        return mlp_projector(stacked, hidden, hidden, bias=False) if name == "voxtral" else mlp_projector(stacked, 2 * hidden, hidden)
    if name == "voxtral_realtime":
        return mlp_projector(audio.width * cfg.integer("downsample_factor", default=4), hidden, hidden, bias=False)
    bias = cfg.flag("projector_bias", default=True)
    if name == "moss_transcribe_diarize":
        merged = audio.width * cfg.integer("audio_merge_size", default=4)
        return (*mlp_projector(merged, hidden, hidden, bias=bias), *norm("norm", hidden, bias=True))
    return mlp_projector(audio.width, hidden, hidden, bias=bias)


def _adaptive(text: ModelSpec) -> ModelSpec:
    """``text`` with the low-rank modulation of each layer's second norm."""
    hidden, name = text.hidden_size, "ada_rms_norm.linear"
    more = (
        WeightGroup(f"{name}1.weight", "other", _ADAPTIVE_RANK, hidden),
        WeightGroup(f"{name}2.weight", "other", hidden, _ADAPTIVE_RANK),
    )
    layers = (run._replace(layer=run.layer._replace(weights=(*run.layer.weights, *more))) for run in text.runs)
    return text._replace(runs=tuple(layers))
