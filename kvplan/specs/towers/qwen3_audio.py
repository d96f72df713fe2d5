"""The audio encoder of Qwen3-Omni and Qwen3-ASR: three strided 2-D convolutions, then Whisper's blocks with biases throughout.

Source: transformers 5.24 models/{qwen3_omni_moe,qwen3_asr}.
"""

from kvplan.specs.config import Config
from kvplan.specs.parts.blocks import Groups, linear, norm
from kvplan.specs.parts.tower import Block, Tower, blocks, conv

MODEL_TYPES = ("qwen3_omni_moe_audio_encoder", "qwen3_asr_encoder")


def build(cfg: Config) -> Tower:
    """Qwen3-Omni's ends in two projections; Qwen3-ASR has its projector outside."""
    omni = cfg.text("model_type") == "qwen3_omni_moe_audio_encoder"
    hidden = cfg.integer("d_model", "hidden_size", default=1280 if omni else 1024)
    inner = cfg.integer("encoder_ffn_dim", "intermediate_size", default=5120 if omni else 4096)
    n_layers = cfg.integer("encoder_layers", "num_hidden_layers", default=32 if omni else 24)
    groups = (
        *_convolutions(cfg, hidden),
        *blocks(n_layers, Block(hidden, inner)),
        *norm("ln_post", hidden, bias=True),
    )
    if not omni:
        return Tower(groups, hidden)
    out = cfg.integer("output_dim", default=3584)
    ends = (*linear("proj1", hidden, hidden, role="audio", bias=True), *linear("proj2", out, hidden, role="audio", bias=True))
    return Tower((*groups, *ends), out)


def _convolutions(cfg: Config, hidden: int) -> Groups:
    """Each halves the mel bins, rounding up; what is left of them is projected with all channels."""
    channels, bins = cfg.integer("downsample_hidden_size", default=480), cfg.integer("num_mel_bins", default=128)
    for _ in range(3):
        bins = (bins + 1) // 2
    return (
        *conv("conv2d1", channels, 1, 3, 3),
        *conv("conv2d2", channels, channels, 3, 3),
        *conv("conv2d3", channels, channels, 3, 3),
        *linear("conv_out", hidden, channels * bins, role="audio"),
    )
