"""Whisper's audio encoder, and the encoders made of it: two convolutions over mel bins, then blocks without a bias on k.

Source: transformers 5.24 models/{whisper,qwen2_audio,voxtral,audioflamingo3,moss_transcribe_diarize,qwen2_5_omni,glmasr};
Radford et al. 2022, arXiv:2212.04356 §2.2.
"""

from typing import NamedTuple

from kvplan.specs.config import Config
from kvplan.specs.parts.blocks import Groups, linear, norm
from kvplan.specs.parts.tower import Block, Tower, blocks, conv, parameter


class Defaults(NamedTuple):
    """What the configuration class of a kind has where its config says nothing; ``positions`` 0 where none are learned."""

    hidden: int = 1280
    intermediate: int = 5120
    n_layers: int = 32
    n_mels: int = 128
    positions: int = 1500


_KINDS = {
    "qwen2_audio_encoder": Defaults(),
    "voxtral_encoder": Defaults(),
    "audioflamingo3_encoder": Defaults(),
    "moss_transcribe_diarize_audio": Defaults(1024, 4096, 24, 80),
    "qwen2_5_omni_audio_encoder": Defaults(positions=0),
    "glmasr_encoder": Defaults(positions=0),
}
MODEL_TYPES = tuple(_KINDS)


def build(cfg: Config) -> Tower:
    """Qwen2.5-Omni's projects its output and learns two marks of its own."""
    kind = cfg.text("model_type")
    default = _KINDS[kind]
    hidden = cfg.integer("d_model", "hidden_size", default=default.hidden)
    block = Block(hidden, cfg.integer("encoder_ffn_dim", "intermediate_size", default=default.intermediate), k_bias=False)
    positions = cfg.integer("max_source_positions", default=default.positions) if default.positions else 0
    groups = (
        *conv("conv1", hidden, cfg.integer("num_mel_bins", default=default.n_mels), 3),
        *conv("conv2", hidden, hidden, 3),
        *((parameter("embed_positions.weight", positions, hidden),) if positions else ()),
        *blocks(cfg.integer("encoder_layers", "num_hidden_layers", default=default.n_layers), block),
        *norm("layer_norm", hidden, bias=True),
    )
    return _with_projection(cfg, Tower(groups, hidden)) if kind == "qwen2_5_omni_audio_encoder" else Tower(groups, hidden)


def _with_projection(cfg: Config, tower: Tower) -> Tower:
    out = cfg.integer("output_dim", default=3584)
    more: Groups = (parameter("audio_bos_eos_token.weight", 2, out), *linear("proj", out, tower.width, role="audio", bias=True))
    return Tower((*tower.groups, *more), out)
