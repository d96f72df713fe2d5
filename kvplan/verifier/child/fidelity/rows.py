"""A batch in which each sequence keeps its keys and values in its own way, so that one forward runs every cache."""

from collections.abc import Sequence
from functools import partial

import torch
import transformers
from transformers.cache_utils import DynamicLayer

from kvplan.verifier.child.fidelity.quantizers import LEAST_HADAMARD, quantizer
from kvplan.verifier.child.fidelity.rotary import Follower, Turn
from kvplan.verifier.fidelity.variant import Layout, Variant


class NoCacheError(Exception):
    """The model keeps nothing that a quantized cache would hold."""


class Side:
    """Keys, or values, of one sequence in one layer: what is quantized when it comes, and what waits."""

    def __init__(self, layout: Layout, follower: Follower | None, *, are_keys: bool) -> None:
        """``follower`` knows how keys are turned, where the layout asks for it."""
        self._layout, self._follower = layout, follower if layout.rope != "with" else None
        self._rounded = quantizer(layout) if are_keys else quantizer(layout, widest=LEAST_HADAMARD)
        self._group = layout.group if layout.axis == "channel" and layout.group else 1
        self.waits = layout.axis == "channel" or layout.residual > 0
        self.done = 0

    def due(self, n_tokens: int) -> int:
        """Tokens, of ``n_tokens`` kept so far, that are quantized before the next ones come: whole groups, all but the residual."""
        held = max(0, n_tokens - self._layout.residual)
        return held - held % self._group

    def rounded(self, x: "torch.Tensor", turn: Turn | None) -> "torch.Tensor":
        """(heads, tokens, width) as they are stored, group after group."""
        if self._group > 1 and x.shape[-2] > self._group:
            parts = range(0, x.shape[-2], self._group)
            return torch.cat([self._one(x[:, i : i + self._group], turn and _of(turn, i, i + self._group)) for i in parts], dim=-2)
        return self._one(x, turn)

    def _one(self, x: "torch.Tensor", turn: Turn | None) -> "torch.Tensor":
        if self._follower is None or turn is None:
            return self._rounded(x)
        if self._layout.rope == "before":
            return self._follower.forth(self._rounded(self._follower.back(x, turn)), turn)
        parts = [x[..., : turn.first], x[..., turn.end :]]
        low, high = (self._rounded(part.contiguous()) if part.shape[-1] else part for part in parts)
        return torch.cat([low, x[..., turn.first : turn.end], high], dim=-1)


def _of(turn: Turn, first: int, end: int) -> Turn:
    return turn._replace(cos=turn.cos[:, first:end], sin=turn.sin[:, first:end])


class Rows:
    """Stands before one layer of a cache and hands it what each sequence's own cache would give back."""

    def __init__(self, layer: DynamicLayer, variants: Sequence[Variant | None], follower: Follower | None) -> None:
        """A sequence whose variant is None keeps all as it comes."""
        self._layer, self._append, self._follower = layer, layer.update, follower
        pairs = [(i, one) for i, one in enumerate(variants) if one is not None]
        self._keys = [(i, Side(one.k, follower, are_keys=True)) for i, one in pairs]
        self._values = [(i, Side(one.v, None, are_keys=False)) for i, one in pairs]
        self._turn: Turn | None = None
        self._n_tokens = 0

    def update(self, keys: "torch.Tensor", values: "torch.Tensor", *rest: object, **named: object) -> object:
        """Quantize what is due of what is held, then what comes, and append that."""
        came = self._follower.turn(keys) if self._follower else None
        if self._layer.is_initialized:
            self._settle(self._layer.keys, self._keys, self._turn)
            self._settle(self._layer.values, self._values, None)
        self._n_tokens += keys.shape[-2]
        if came is not None:
            self._turn = came if self._turn is None else _joined(self._turn, came)
        return self._append(_arriving(keys, self._keys, came), _arriving(values, self._values, None), *rest, **named)

    def _settle(self, held: "torch.Tensor", sides: list[tuple[int, Side]], turn: Turn | None) -> None:
        """In place: attention of the step before is done with them. A window may have let go of the first tokens."""
        gone = self._n_tokens - held.shape[-2]
        for i, side in sides:
            first, end = max(side.done, gone), side.due(self._n_tokens)
            if side.waits and end > first:
                part = held[i, :, first - gone : end - gone]
                held[i, :, first - gone : end - gone] = side.rounded(part, turn and _of(turn, first, end))
                side.done = end


def _arriving(came: "torch.Tensor", sides: list[tuple[int, Side]], turn: Turn | None) -> "torch.Tensor":
    kept = came.clone()
    for i, side in sides:
        if not side.waits:
            kept[i] = side.rounded(came[i], turn)
    return kept


def _joined(before: Turn, after: Turn) -> Turn:
    return before._replace(cos=torch.cat([before.cos, after.cos], dim=1), sin=torch.cat([before.sin, after.sin], dim=1))


def cache(module: "torch.nn.Module", variants: Sequence[Variant | None], follower: Follower | None) -> "transformers.Cache":
    """An empty cache for a batch of one sequence for each of ``variants``. Raises NoCacheError where no layer keeps keys and values."""
    made = transformers.DynamicCache(config=module.config.get_text_config(decoder=True))
    layers = [layer for layer in made.layers if isinstance(layer, DynamicLayer)]
    if not layers:
        raise NoCacheError(f"{type(module).__name__} keeps no keys and values")
    for layer in layers:
        layer.update = Rows(layer, variants, follower).update
    return made


def own(module: "torch.nn.Module", variant: Variant) -> "transformers.Cache":
    """An empty cache of Transformers' own for one sequence. Raises ImportError where its package is missing, ValueError for windows.

    Its documentation wants groups along axis 0 with Quanto and along axis 1 with HQQ.
    """
    make = partial(transformers.QuantizedCache, variant.backend, module.config.get_text_config(decoder=True))
    if variant.backend == "fp8":
        return make()
    axis, bits = int(variant.backend == "hqq"), int(variant.k.dtype.removeprefix("int"))
    return make(nbits=bits, axis_key=axis, axis_value=axis, q_group_size=variant.k.group, residual_length=variant.k.residual)
