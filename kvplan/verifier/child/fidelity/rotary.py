"""The rotary embedding of keys, followed while the model runs, so that a key can be turned back."""

import sys
from typing import NamedTuple

import torch

FUNCTION = "apply_rotary_pos_emb"  # what Transformers' modeling files call it


class NotFollowedError(Exception):
    """The model turns its keys in a way that is not followed."""


class Turn(NamedTuple):
    """How the keys of some tokens were turned: cosines and sines, and the part of their width that was."""

    cos: "torch.Tensor"
    sin: "torch.Tensor"
    first: int
    end: int


class Follower:
    """Sees each call of the function that turns keys; the cache of the same layer asks for what it saw."""

    def __init__(self, module: "torch.nn.Module") -> None:
        """From now on. Raises NotFollowedError where the model's file has no such function."""
        self._home = sys.modules[type(module).__module__]
        if not hasattr(self._home, FUNCTION):
            raise NotFollowedError(f"rope=: the code of {type(module).__name__} has no {FUNCTION} to follow")
        self._function = getattr(self._home, FUNCTION)
        self._seen: tuple[torch.Tensor, torch.Tensor, torch.Tensor] | None = None
        setattr(self._home, FUNCTION, self._followed)

    def close(self) -> None:
        """Leave the model as it was."""
        setattr(self._home, FUNCTION, self._function)

    def _followed(self, q: "torch.Tensor", k: "torch.Tensor", cos: "torch.Tensor", sin: "torch.Tensor", *rest: object) -> object:
        if rest:
            raise NotFollowedError(f"rope=: {FUNCTION} is called with more than cosines and sines")
        turned = self._function(q, k, cos, sin)
        self._seen = (turned[1], cos, sin)
        return turned

    def forget(self) -> None:
        """What was seen is of another forward."""
        self._seen = None

    def turn(self, keys: "torch.Tensor") -> Turn | None:
        """How ``keys`` (sequences, heads, tokens, width) were turned, None where they were not; asked once for each layer."""
        seen, self._seen = self._seen, None
        if seen is None:
            return None
        turned, cos, sin = seen
        width, part = keys.shape[-1], turned.shape[-1]
        for first in (0, width - part):
            if torch.equal(keys[..., first : first + part], turned.expand(*keys.shape[:-1], part)):
                end = first + min(part, 2 * cos.shape[-1] if cos.shape[-1] * 2 == part else cos.shape[-1])
                return Turn(cos[:1], sin[:1], first, end)
        raise NotFollowedError("rope=: the cached keys do not hold what the rotary embedding turned")

    def back(self, keys: "torch.Tensor", turn: Turn) -> "torch.Tensor":
        """Keys (heads, tokens, width) as they were before; tables that stretch what they turn are divided out."""
        stretch = (turn.cos**2 + turn.sin**2).mean()
        return self._turned(keys, turn.cos / stretch, -turn.sin / stretch, turn)

    def forth(self, keys: "torch.Tensor", turn: Turn) -> "torch.Tensor":
        """Keys turned again."""
        return self._turned(keys, turn.cos, turn.sin, turn)

    def _turned(self, keys: "torch.Tensor", cos: "torch.Tensor", sin: "torch.Tensor", turn: Turn) -> "torch.Tensor":
        part = keys[None, ..., turn.first : turn.end]
        found = self._function(part, part, cos, sin)[1]
        return torch.cat([keys[..., : turn.first], found[0], keys[..., turn.end :]], dim=-1)
