"""Sequences that run in one forward: the reference with every cache that kvplan simulates, or one of Transformers' own alone."""

from collections.abc import Callable, Sequence

import torch
import transformers

from kvplan.verifier.child.fidelity import rows
from kvplan.verifier.child.fidelity.rotary import Follower
from kvplan.verifier.child.loop import cache_name
from kvplan.verifier.fidelity.variant import Variant


class Batch:
    """``variants`` side by side, None is the reference; ``error`` says in whose words it ended, once it has."""

    def __init__(self, module: "torch.nn.Module", variants: Sequence[Variant | None], follower: Follower | None = None) -> None:
        """Nothing runs yet."""
        self.variants = variants
        self.error: str | None = None
        self._module, self._follower, self._name = module, follower, cache_name(module)
        self._cache: transformers.Cache | None = None

    @property
    def is_own(self) -> bool:
        """Whether the cache is Transformers' own, which may fail without the others."""
        return self.variants[0] is not None

    def start(self) -> None:
        """With an empty cache."""
        self.error, self._cache = None, None

    def forward(self, ids: "torch.Tensor", *, last_only: bool = False) -> "torch.Tensor | None":
        """Logits (sequences, tokens, vocabulary) of the next ``ids``; None where the cache failed, now or before."""
        if self.error is not None:
            return None
        if not self.is_own:
            return self._logits(ids, last_only=last_only)
        try:
            return self._logits(ids, last_only=last_only)
        except Exception as problem:  # of its package: any; what else is measured goes on
            self.error = f"{type(problem).__name__}: {problem}"
            return None

    def _logits(self, ids: "torch.Tensor", *, last_only: bool) -> "torch.Tensor":
        if self._follower is not None:
            self._follower.forget()
        if self._cache is None:
            (first, *_) = self.variants
            self._cache = rows.cache(self._module, self.variants, self._follower) if first is None else rows.own(self._module, first)
        kept = {"logits_to_keep": 1} if last_only else {}
        given = {self._name: self._cache, "use_cache": True, **kept}
        return self._module(input_ids=ids.to(self._module.device), **given).logits


def written(batch: Batch, prompt: list[int], n_new: int, ends: frozenset[int], told: Callable[[int], None]) -> list[list[int]]:
    """The most likely tokens after ``prompt``, of each sequence until it ends."""
    n = len(batch.variants)
    came = torch.tensor([prompt] * n)
    found: list[list[int]] = [[] for _ in range(n)]
    batch.start()
    for step in range(n_new):
        told(step)
        logits = batch.forward(came, last_only=True)
        if logits is None:
            break
        came = logits[:, -1].float().argmax(-1, keepdim=True)
        for tokens, (token,) in zip(found, came.tolist(), strict=True):
            if not tokens or tokens[-1] not in ends:
                tokens.append(token)
        if all(tokens[-1] in ends for tokens in found):
            break
    return found
