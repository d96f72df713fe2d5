"""The parts that vision and audio towers are built of, as weight groups. Engines split their layers as they split a decoder's."""

from math import prod
from typing import NamedTuple

from kvplan.core.model import WeightGroup
from kvplan.core.roles import Role
from kvplan.specs.config import Config
from kvplan.specs.parts.blocks import Groups, copies, gated_mlp, linear, norm, plain_mlp


class Tower(NamedTuple):
    """The weights of an encoder and the width of the features it hands on."""

    groups: Groups
    width: int


class Block(NamedTuple):
    """One encoder layer as its modeling code builds it: attention and a feed-forward of these widths.

    ``inner`` is the attention's width where it is not ``hidden``, ``kv_inner`` that of keys and values where it differs
    again. ``qk_norm`` is the width of a norm on q and on k, ``layer_scales`` the number of learned scales.
    """

    hidden: int
    intermediate: int
    qkv_bias: bool = True
    k_bias: bool | None = None
    o_bias: bool = True
    mlp_bias: bool = True
    norm_bias: bool = True
    gated: bool = False
    n_norms: int = 2
    layer_scales: int = 0
    qk_norm: int = 0
    inner: int | None = None
    kv_inner: int | None = None


def blocks(n_layers: int, block: Block, *, name: str = "layers") -> Groups:
    """The weights of ``n_layers`` equal encoder layers."""
    hidden, mlp = block.hidden, gated_mlp if block.gated else plain_mlp
    one: Groups = (
        *(group for i in range(block.n_norms) for group in norm(f"{name}.norm{i + 1}", hidden, bias=block.norm_bias)),
        *encoder_attention(f"{name}.self_attn", block),
        *mlp(hidden, block.intermediate, name=f"{name}.mlp", bias=block.mlp_bias),
        *(parameter(f"{name}.layer_scale{i + 1}", hidden) for i in range(block.layer_scales)),
    )
    return copies(one, n_layers)


def encoder_attention(name: str, block: Block) -> Groups:
    """Query, key, value and output projections of ``block``, with norms on q and k where it has them."""
    hidden, inner = block.hidden, block.inner or block.hidden
    kv_inner = block.kv_inner or inner
    k_bias = block.qkv_bias if block.k_bias is None else block.k_bias
    return (
        *linear(f"{name}.q_proj", inner, hidden, role="vision", shard="column", bias=block.qkv_bias),
        *linear(f"{name}.k_proj", kv_inner, hidden, role="vision", shard="column", bias=k_bias),
        *linear(f"{name}.v_proj", kv_inner, hidden, role="vision", shard="column", bias=block.qkv_bias),
        *linear(f"{name}.out_proj", hidden, inner, role="vision", shard="row", bias=block.o_bias),
        *(parameter(f"{name}.{which}_norm.weight", block.qk_norm) for which in ("q", "k") if block.qk_norm),
    )


def conv(name: str, n_out: int, n_in: int, *kernel: int, bias: bool = True) -> Groups:
    """A convolution of ``n_in`` (per group) to ``n_out`` channels with ``kernel`` taps in each dimension."""
    return linear(name, n_out, n_in * prod(kernel), role="vision", bias=bias)


def patches_3d(cfg: Config, hidden: int, *, patch: int, bias: bool = True) -> Groups:
    """A convolution over ``temporal_patch_size`` frames of square patches; ``patch`` is the class default of their side."""
    side, frames = cfg.integer("patch_size", default=patch), cfg.integer("temporal_patch_size", default=2)
    return conv("patch_embed.proj", hidden, cfg.integer("in_channels", default=3), frames, side, side, bias=bias)


def parameter(name: str, *shape: int) -> WeightGroup:
    """A free parameter: class tokens, position tables, queries, scales."""
    return WeightGroup(name, "vision", prod(shape[:-1]), shape[-1]) if len(shape) > 1 else WeightGroup(name, "vision", shape[0])


def pooling_head(hidden: int, intermediate: int) -> Groups:
    """SigLIP's attention pooling: a probe, multi-head attention, a norm and a feed-forward."""
    return (
        parameter("head.probe", 1, hidden),
        *linear("head.attention.in_proj", 3 * hidden, hidden, role="vision", bias=True),
        *linear("head.attention.out_proj", hidden, hidden, role="vision", bias=True),
        *norm("head.layernorm", hidden, bias=True),
        *plain_mlp(hidden, intermediate, name="head.mlp", bias=True),
    )


def sides(cfg: Config, key: str, default: int) -> tuple[int, int]:
    """Height and width at ``key``, given as one number for both or as a list of two."""
    if not isinstance(cfg.data.get(key), list):
        return (cfg.integer(key, default=default),) * 2
    found = cfg.integers(key, least=1)
    if len(found) != 2:
        raise cfg.error(key, f"expected a number or a list of two, found {len(found)} items")
    return found[0], found[1]


def scaled(cfg: Config, key: str, width: int, *, default: float | None = None) -> int:
    """``width`` times the ratio at ``key``, rounded down. Raises ConfigError where nothing is left of it."""
    found = int(width * cfg.number(key, default=default))
    if found < 1:
        raise cfg.error(key, f"expected a ratio that leaves something of {width}, found {cfg.number(key, default=default)}")
    return found


def several(cfg: Config, key: str, default: tuple[int, ...]) -> tuple[int, ...]:
    """The whole numbers at ``key``, one at least."""
    found = cfg.integers(key, default=default, least=1)
    if not found:
        raise cfg.error(key, "expected one number at least, found an empty list")
    return found


def n_patches(cfg: Config, image: int, patch: int) -> int:
    """Patches of one image: (image_size / patch_size) in each dimension, ``image`` and ``patch`` being the class defaults."""
    height, width = sides(cfg, "image_size", image)
    tall, wide = sides(cfg, "patch_size", patch)
    return (height // tall) * (width // wide)


def part(name: str, groups: Groups, role: Role) -> Groups:
    """``groups`` as a part of a larger model: names under ``name``."""
    return tuple(
        group._replace(name=f"{name}.{group.name}", role=role, tied_to=group.tied_to and f"{name}.{group.tied_to}") for group in groups
    )
