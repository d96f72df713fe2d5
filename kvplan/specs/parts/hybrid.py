"""Decoders whose layers mix tokens in different ways: attention here, a recurrence or a convolution there."""

from collections.abc import Sequence
from typing import NamedTuple

from kvplan.core.mixers import Mixer
from kvplan.core.model import Ffn, Layer
from kvplan.specs.config import Config
from kvplan.specs.parts.blocks import Groups

OLD_NAMES = {"mamba": "linear_attention", "attention": "full_attention"}


class Mixing(NamedTuple):
    """How one kind of layer mixes tokens: its mixers, and their weights."""

    mixers: tuple[Mixer, ...]
    weights: Groups


class FeedForward(NamedTuple):
    """A feed-forward block and its weights."""

    ffn: Ffn
    weights: Groups


def mixed_layers(mixings: Sequence[Mixing], feeds: Sequence[FeedForward], extra: Groups) -> list[Layer]:
    """Layer i mixes tokens by ``mixings[i]`` and feeds forward by ``feeds[i]``; ``extra`` are weights that each layer has (norms)."""
    pairs = list(zip(mixings, feeds, strict=True))
    made = {pair: Layer(pair[0].mixers, (pair[1].ffn,), (*extra, *pair[0].weights, *pair[1].weights)) for pair in dict.fromkeys(pairs)}
    return [made[pair] for pair in pairs]


def read_kinds(cfg: Config, known: Sequence[str], default: Sequence[str]) -> tuple[str, ...]:
    """``layer_types``, in older configs ``layers_block_type``, else ``default``: the kind of each layer, by its present name.

    Raises ConfigError for a kind that is not ``known`` and where their number is not that of the layers.
    """
    key = next((key for key in ("layer_types", "layers_block_type") if cfg.has(key)), "layer_types")
    kinds = [OLD_NAMES.get(kind, kind) for kind in cfg.texts(key, default=default)]
    strange = next((kind for kind in kinds if kind not in known), None)
    if strange is not None:
        raise cfg.error(key, f"unknown kind of layer '{strange}'", hint=f"known: {', '.join(known)}")
    return tuple(cfg.per_layer(key, cfg.n_layers(), kinds))
