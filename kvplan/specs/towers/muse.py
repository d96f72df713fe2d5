"""Muse's encoders: images through a vision transformer over pairs of frames, audio through a pyramid of causal convolutions.

Source: transformers 5.24 models/{muse_glimmer,muse_spark}.
"""

from kvplan.specs.config import Config
from kvplan.specs.parts.blocks import Groups, copies, linear, norm
from kvplan.specs.parts.tower import Block, Tower, blocks, conv, parameter, scaled, several

MODEL_TYPES = ("muse_glimmer_vision", "muse_spark_vision", "muse_spark_audio")


def build(cfg: Config) -> Tower:
    """The encoder of the kind's modality."""
    return _audio(cfg) if cfg.text("model_type") == "muse_spark_audio" else _vision(cfg)


def _vision(cfg: Config) -> Tower:
    hidden, side = cfg.integer("hidden_size", default=1536), cfg.integer("patch_size", default=14)
    positions = cfg.integer("pos_emb_height", default=32) * cfg.integer("pos_emb_width", default=32)
    groups = (
        *conv("patch_embedder.patch_embedding", hidden, 3, cfg.integer("patch_temporal", default=2), side, side, bias=False),
        parameter("patch_embedder.position_embedding_table.weight", positions, hidden),
        *norm("ln_pre", hidden, bias=True),
        *blocks(cfg.integer("num_hidden_layers", default=50), Block(hidden, cfg.integer("intermediate_size", default=8960))),
        *norm("ln_post", hidden, bias=True),
    )
    return Tower(groups, hidden)


def _audio(cfg: Config) -> Tower:
    """Each level stacks ``patch_sizes`` steps into a wider one and refines it with ``depths`` convolutional blocks."""
    widths = several(cfg, "hidden_sizes", (256, 512, 1024, 2048))
    patches, depths = cfg.integers("patch_sizes", default=(16, 6, 5, 4), least=1), cfg.integers("depths", default=(2, 2, 2, 2))
    if not len(widths) == len(patches) == len(depths):
        raise cfg.error("hidden_sizes", "expected as many as patch_sizes and depths")
    out = cfg.integer("out_hidden_size", default=8192)
    groups: Groups = ()
    for i, (width, patch, depth) in enumerate(zip(widths, patches, depths, strict=True)):
        n_in = (widths[i - 1] if i else 1) * patch
        embedder = (*linear("patch_embedder.proj", width, n_in, role="audio", bias=True), *norm("patch_embedder.norm", width))
        groups = (*groups, *embedder, *(copies(_block(cfg, width), depth) if depth else ()))
    ends = (*norm("norm", widths[-1]), *linear("proj", out, widths[-1], role="audio", bias=True), *norm("post_proj_norm", out))
    return Tower((*groups, *ends), out)


def _block(cfg: Config, width: int) -> Groups:
    inner = scaled(cfg, "mlp_ratio", width, default=4.0)
    return (
        *conv("conv_blocks.conv", width, 1, cfg.integer("conv_kernel_size", default=7)),
        *norm("conv_blocks.norm", width),
        *linear("conv_blocks.mlp.fc1", inner, width, role="audio", bias=True),
        *linear("conv_blocks.mlp.fc2", width, inner, role="audio", bias=True),
    )
