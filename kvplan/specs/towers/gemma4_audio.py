"""Gemma 4's audio encoder: two strided convolutions, a conformer, a projection.

Source: transformers 5.24 models/gemma4/modeling_gemma4.py (Gemma4AudioModel).
"""

from kvplan.specs.config import Config
from kvplan.specs.parts.blocks import copies, linear, norm
from kvplan.specs.parts.conformer import conformer_layer
from kvplan.specs.parts.tower import Tower, conv

MODEL_TYPES = ("gemma4_audio",)


def build(cfg: Config) -> Tower:
    """The frequencies that reach the projection are counted from the first layer's channels, as the class does."""
    hidden, out = cfg.integer("hidden_size", default=1024), cfg.integer("output_proj_dims", default=1536)
    channels = cfg.integers("subsampling_conv_channels", default=(128, 32), least=1)
    if len(channels) != 2:
        raise cfg.error("subsampling_conv_channels", f"expected two numbers, found {len(channels)}")
    first, second = channels
    layer = conformer_layer(hidden, cfg.integer("num_attention_heads", default=8), cfg.integer("conv_kernel_size", default=5))
    groups = (
        *conv("subsample_conv_projection.layer0.conv", first, 1, 3, 3, bias=False),
        *norm("subsample_conv_projection.layer0.norm", first),
        *conv("subsample_conv_projection.layer1.conv", second, first, 3, 3, bias=False),
        *norm("subsample_conv_projection.layer1.norm", second),
        *linear("subsample_conv_projection.input_proj_linear", hidden, first // 4 * second, role="audio"),
        *copies(layer, cfg.integer("num_hidden_layers", default=12)),
        *linear("output_proj", out, hidden, role="audio", bias=True),
    )
    return Tower(groups, out)
