"""Gemma 3n's audio encoder: two strided convolutions and a conformer.

Source: transformers 5.24 models/gemma3n/modeling_gemma3n.py (Gemma3nAudioEncoder).
"""

from kvplan.specs.config import Config
from kvplan.specs.parts.blocks import Groups, copies, linear, norm
from kvplan.specs.parts.conformer import conformer_layer
from kvplan.specs.parts.tower import Tower, conv

MODEL_TYPES = ("gemma3n_audio",)


def build(cfg: Config) -> Tower:
    """Each convolution, padded by one on both sides, leaves (frequencies + 2 − kernel) / stride + 1 of them."""
    hidden = cfg.integer("hidden_size", default=1536)
    channels = cfg.integers("sscp_conv_channel_size", default=(128, 32), least=1)
    kernels, strides = _pairs(cfg, "sscp_conv_kernel_size", 3), _pairs(cfg, "sscp_conv_stride_size", 2)
    if not len(channels) == len(kernels) == len(strides) == 2:
        raise cfg.error("sscp_conv_channel_size", "expected two convolutions: two channels, kernels and strides")
    frequencies = cfg.integer("input_feat_size", default=128)
    for (_, wide), (_, step) in zip(kernels, strides, strict=True):
        frequencies = (frequencies + 2 - wide) // step + 1
    layer = conformer_layer(hidden, cfg.integer("conf_num_attention_heads", default=8), cfg.integer("conf_conv_kernel_size", default=5))
    groups = (
        *(group for i, kernel in enumerate(kernels) for group in _convolution(i, channels, kernel)),
        *linear("subsample_conv_projection.input_proj_linear", hidden, channels[1] * frequencies, role="audio"),
        *copies(layer, cfg.integer("conf_num_hidden_layers", default=12)),
    )
    return Tower(groups, hidden)


def _convolution(i: int, channels: tuple[int, ...], kernel: tuple[int, int]) -> Groups:
    name = f"subsample_conv_projection.conv_{i}"
    return (*conv(f"{name}.conv", channels[i], channels[i - 1] if i else 1, *kernel, bias=False), *norm(f"{name}.norm", channels[i]))


def _pairs(cfg: Config, key: str, default: int) -> tuple[tuple[int, int], ...]:
    """A list of pairs of whole numbers, two of (``default``, ``default``) where there is none."""
    found = cfg.data.get(key)
    if found is None:
        return ((default, default), (default, default))
    if isinstance(found, list) and all(isinstance(p, list) and len(p) == 2 and all(type(n) is int and n > 0 for n in p) for p in found):
        return tuple((p[0], p[1]) for p in found)
    raise cfg.error(key, "expected a list of pairs of whole numbers")
