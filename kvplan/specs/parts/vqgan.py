"""Image tokenizers of the VQ-GAN kind: residual convolutions down to a code, and up from it.

Source: Esser et al. 2021, arXiv:2012.09841; transformers 5.24 models/{janus,apertus1p5}.
"""

from collections.abc import Sequence
from typing import NamedTuple

from kvplan.specs.parts.blocks import Groups, norm
from kvplan.specs.parts.tower import conv


class Pyramid(NamedTuple):
    """Widths of a tokenizer: ``base`` channels times each of ``factors``, with ``n_blocks`` residual blocks a level.

    ``attention`` are the levels whose blocks are each followed by attention.
    """

    base: int
    factors: tuple[int, ...]
    n_blocks: int
    attention: tuple[int, ...]


def encoder(shape: Pyramid, n_in: int, n_latent: int) -> Groups:
    """From ``n_in`` channels of pixels to ``n_latent`` channels; each level but the last halves the grid."""
    widths = [shape.base * factor for factor in shape.factors]
    groups: Groups = conv("encoder.conv_in", shape.base, n_in, 3, 3)
    inner = shape.base
    for level, width in enumerate(widths):
        groups = (*groups, *_level(shape, level, (inner, width), shape.n_blocks))
        inner = width
        groups = (*groups, *(conv("encoder.downsample", inner, inner, 3, 3) if level < len(widths) - 1 else ()))
    return (*groups, *_middle(inner), *norm("encoder.norm_out", inner, bias=True), *conv("encoder.conv_out", n_latent, inner, 3, 3))


def decoder(shape: Pyramid, n_latent: int, n_out: int) -> Groups:
    """Back to ``n_out`` channels of pixels, with one more block a level; each level but the first doubles the grid."""
    widths = [shape.base * factor for factor in shape.factors]
    inner = widths[-1]
    groups: Groups = (*conv("decoder.conv_in", inner, n_latent, 3, 3), *_middle(inner))
    for level in reversed(range(len(widths))):
        groups = (*groups, *_level(shape, level, (inner, widths[level]), shape.n_blocks + 1))
        inner = widths[level]
        groups = (*groups, *(conv("decoder.upsample", inner, inner, 3, 3) if level else ()))
    return (*groups, *norm("decoder.norm_out", inner, bias=True), *conv("decoder.conv_out", n_out, inner, 3, 3))


def _level(shape: Pyramid, level: int, widths: Sequence[int], n_blocks: int) -> Groups:
    """The residual blocks of one level, from the first of ``widths`` to the second, and their attention."""
    n_in, width = widths
    groups = _residual(n_in, width)
    for _ in range(n_blocks - 1):
        groups = (*groups, *_residual(width, width))
    return (*groups, *(_attention(width) * n_blocks if level in shape.attention else ()))


def _middle(width: int) -> Groups:
    return (*_residual(width, width), *_attention(width), *_residual(width, width))


def _residual(n_in: int, n_out: int) -> Groups:
    return (
        *norm("block.norm1", n_in, bias=True),
        *conv("block.conv1", n_out, n_in, 3, 3),
        *norm("block.norm2", n_out, bias=True),
        *conv("block.conv2", n_out, n_out, 3, 3),
        *(conv("block.nin_shortcut", n_out, n_in, 1, 1) if n_in != n_out else ()),
    )


def _attention(width: int) -> Groups:
    return (
        *norm("attn.norm", width, bias=True),
        *(group for name in ("q", "k", "v", "proj_out") for group in conv(f"attn.{name}", width, width, 1, 1)),
    )
