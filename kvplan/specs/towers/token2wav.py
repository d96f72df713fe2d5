"""Qwen2.5-Omni's vocoder: a diffusion transformer from codes to a spectrogram, and BigVGAN from there to a waveform.

Source: transformers 5.24 models/qwen2_5_omni (Qwen2_5OmniToken2WavModel); Lee et al. 2022, arXiv:2206.04658; Desplanques et al. 2020,
arXiv:2005.07143 (speaker encoder).
"""

from kvplan.specs.config import Config
from kvplan.specs.parts.blocks import Groups, copies, linear
from kvplan.specs.parts.tower import Tower, conv, parameter, scaled, several

MODEL_TYPES = ("qwen2_5_omni_token2wav",)
_FREQUENCIES = 256  # of the sinusoids that encode a time step


def build(cfg: Config) -> Tower:
    """Both halves, each with its own config."""
    return Tower((*_diffusion(cfg.sub("dit_config")), *_bigvgan(cfg.sub("bigvgan_config"))), 1)


def _diffusion(cfg: Config) -> Groups:
    hidden, mel = cfg.integer("hidden_size", default=1024), cfg.integer("mel_dim", default=80)
    inner = cfg.integer("num_attention_heads", default=16) * cfg.integer("head_dim", default=64)
    wide, embedded = scaled(cfg, "ff_mult", hidden, default=2), cfg.integer("emb_dim", default=512)
    n_in = mel + cfg.integer("enc_dim", default=128) + cfg.integer("enc_emb_dim", default=192) + embedded
    block: Groups = (
        *_dense("attn_norm.linear", 6 * hidden, hidden),
        *(group for name in ("to_q", "to_k", "to_v") for group in _dense(f"attn.{name}", inner, hidden)),
        *_dense("attn.to_out", hidden, inner),
        *_dense("ff.0", wide, hidden),
        *_dense("ff.3", hidden, wide),
    )
    return (
        *_dense("time_embed.0", hidden, _FREQUENCIES),
        *_dense("time_embed.2", hidden, hidden),
        parameter("text_embed.codec_embed.weight", cfg.integer("num_embeds", default=8193) + 1, embedded),
        *_dense("input_embed.proj", hidden, n_in),
        *_speaker(cfg, mel),
        *copies(block, cfg.integer("num_hidden_layers", default=22)),
        *_dense("norm_out.linear", 2 * hidden, hidden),
        *_dense("proj_out", mel, hidden),
    )


def _speaker(cfg: Config, mel: int) -> Groups:
    """ECAPA-TDNN: a convolution, squeezed residual blocks, aggregation and attentive pooling."""
    channels = several(cfg, "enc_channels", (256, 256, 256, 256, 768))
    kernels = cfg.integers("enc_kernel_sizes", default=(5, 3, 3, 3, 1), least=1)
    if len(channels) != len(kernels):
        raise cfg.error("enc_kernel_sizes", f"expected one for each of {len(channels)} enc_channels, found {len(kernels)}")
    scale, squeezed = cfg.integer("enc_res2net_scale", default=2), cfg.integer("enc_se_channels", default=64)
    attentive, last = cfg.integer("enc_attention_channels", default=64), channels[-1]
    groups = conv("spk.blocks.0", channels[0], mel, kernels[0])
    for i in range(1, len(channels) - 1):
        n_in, width = channels[i - 1], channels[i]
        part = conv("spk.res2net", width // scale, width // scale, kernels[i])
        groups = (
            *groups,
            *conv("spk.tdnn1", width, n_in, 1),
            *(copies(part, scale - 1) if scale > 1 else ()),
            *conv("spk.tdnn2", width, width, 1),
            *conv("spk.se1", squeezed, width, 1),
            *conv("spk.se2", width, squeezed, 1),
        )
    return (
        *groups,
        *conv("spk.mfa", last, last, kernels[-1]),
        *conv("spk.asp.tdnn", attentive, 3 * last, 1),
        *conv("spk.asp.conv", last, attentive, 1),
        *conv("spk.fc", cfg.integer("enc_dim", default=128), 2 * last, 1),
    )


def _bigvgan(cfg: Config) -> Groups:
    """Each upsampling halves the channels and is followed by a residual block for each kernel, three convolutions deep twice."""
    first = cfg.integer("upsample_initial_channel", default=1536)
    kernels = cfg.integers("resblock_kernel_sizes", default=(3, 7, 11), least=1)
    groups = conv("conv_pre", first, cfg.integer("mel_dim", default=80), 7)
    width = first
    for i, kernel in enumerate(several(cfg, "upsample_kernel_sizes", (11, 7, 4, 4, 4, 4)), start=1):
        n_in, width = first // 2 ** (i - 1), first // 2**i
        up = (parameter("ups.weight", n_in, width * kernel), parameter("ups.bias", width))
        blocks = (group for size in kernels for group in copies(_residual(width, size), 6))
        groups = (*groups, *up, *blocks)
    return (*groups, *_snake("activation_post", width), *conv("conv_post", 1, width, 7, bias=False))


def _residual(width: int, kernel: int) -> Groups:
    return (*conv("resblocks.conv", width, width, kernel), *_snake("resblocks.activation", width))


def _snake(name: str, width: int) -> Groups:
    return parameter(f"{name}.alpha", width), parameter(f"{name}.beta", width)


def _dense(name: str, n_out: int, n_in: int) -> Groups:
    return linear(name, n_out, n_in, role="audio", bias=True)
