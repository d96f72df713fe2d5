"""MiniCPM-V's image encoder: SigLIP's blocks, with a merger of windows of patches among them.

Source: transformers 5.24 models/{minicpmv4_6,minicpmv4_7,minicpm_ocr}.
"""

from math import prod

from kvplan.specs.config import Config
from kvplan.specs.parts.blocks import linear, norm
from kvplan.specs.parts.tower import Block, Tower, blocks, conv, encoder_attention, n_patches, parameter, sides

MODEL_TYPES = ("minicpmv4_6_vision", "minicpmv4_7_vision", "minicpm_ocr_vision")


def build(cfg: Config) -> Tower:
    """The merger attends within a window, then turns ``window_kernel_size`` patches into one."""
    hidden, inner = cfg.integer("hidden_size", default=768), cfg.integer("intermediate_size", default=3072)
    window = prod(cfg.integers("window_kernel_size", default=(2, 2), least=1))
    block = Block(hidden, inner)
    groups = (
        *conv("embeddings.patch_embedding", hidden, cfg.integer("num_channels", default=3), *sides(cfg, "patch_size", 16)),
        parameter("embeddings.position_embedding.weight", n_patches(cfg, 224, 16), hidden),
        *blocks(cfg.integer("num_hidden_layers", default=12), block, name="encoder.layers"),
        *norm("post_layernorm", hidden, bias=True),
        *encoder_attention("vit_merger.self_attn", block),
        *norm("vit_merger.layer_norm1", hidden, bias=True),
        *norm("vit_merger.pre_norm", hidden * window, bias=True),
        *linear("vit_merger.linear_1", inner * window, hidden * window, role="vision", bias=True),
        *linear("vit_merger.linear_2", hidden, inner * window, role="vision", bias=True),
    )
    return Tower(groups, hidden)
