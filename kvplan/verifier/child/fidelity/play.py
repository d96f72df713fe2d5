"""Samples played with the reference and every cache: what each writes, and how it judges the same text."""

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Protocol, Self

import torch

from kvplan.verifier.child.fidelity.batch import Batch, written
from kvplan.verifier.child.fidelity.rotary import Follower
from kvplan.verifier.child.fidelity.scores import scored
from kvplan.verifier.fidelity.asked import PIECE, Bucket, Output, Played, Row
from kvplan.verifier.fidelity.samples import Sample
from kvplan.verifier.fidelity.variant import Variant

Sums = dict[int, Bucket]


class Tokenizer(Protocol):
    """What is used of Transformers' tokenizers."""

    eos_token_id: int | None

    def __call__(self, text: str) -> dict[str, list[int]]:
        """``input_ids`` of a text."""

    def decode(self, ids: list[int], *, skip_special_tokens: bool) -> str:
        """The text of tokens."""


class Player:
    """A model with its tokenizer, and the caches to try. A context manager: the model's code is as it was at the end."""

    def __init__(self, module: "torch.nn.Module", tokenizer: Tokenizer, variants: Sequence[Variant], n_new: int) -> None:
        """Caches that kvplan simulates share one batch with the reference; Transformers' own take a batch each."""
        simulated = [one for one in variants if one.backend is None]
        self._tokenizer, self._n_new, self._variants = tokenizer, n_new, variants
        self._follower = Follower(module) if any(one.k.rope != "with" for one in simulated) else None
        own = [Batch(module, [one]) for one in variants if one.backend is not None]
        self._batches = [Batch(module, [None, *simulated], self._follower), *own]
        self._ends = _ends(module, tokenizer)

    def __enter__(self) -> Self:
        """The player itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Leave the model as it was."""
        if self._follower:
            self._follower.close()

    def play(self, sample: Sample, told: Callable[[int], None]) -> Played:
        """The sample with all caches; ``told`` hears of each token that a batch writes."""
        ids = self._tokenizer(sample.prompt)["input_ids"]
        if sample.is_text:
            sums, errors = self._judged(ids, 1)
            return Played(len(ids), self._rows(sums, [None] * len(sums), errors))
        outputs, failed = [], []
        for batch in self._batches:
            outputs += written(batch, ids, self._n_new, self._ends, told)
            failed += [batch.error] * len(batch.variants)
        sums, errors = self._judged([*ids, *outputs[0]], len(ids))
        made = [self._output(tokens, outputs[0]) for tokens in outputs]
        return Played(len(ids), self._rows(sums, made, [one or other for one, other in zip(failed, errors, strict=True)]))

    def _rows(self, sums: list[Sums], outputs: Sequence[Output | None], errors: list[str | None]) -> tuple[Row, ...]:
        """The reference, then the variants as they were asked for."""
        names = [one and one.name for batch in self._batches for one in batch.variants]
        found = [Row({}, None, error) if error else Row(seen, output) for seen, output, error in zip(sums, outputs, errors, strict=True)]
        by_name = dict(zip(names, found, strict=True))
        return tuple(by_name[name] for name in (None, *(one.name for one in self._variants)))

    def _judged(self, ids: list[int], first: int) -> tuple[list[Sums], list[str | None]]:
        """What each cache makes of ``ids`` from ``first`` on, read in pieces; and why those that made nothing of it failed."""
        edges = [0, *range(max(PIECE, first - first % PIECE), len(ids) - 1, PIECE), len(ids) - 1]
        sums: list[Sums] = [{} for batch in self._batches for _ in batch.variants]
        for batch in self._batches:
            batch.start()
        for low, high in pairwise(edges):
            logits = [one for batch in self._batches for one in self._logits(batch, ids[low:high])]
            scored(sums, logits, ids[low + 1 : high + 1], first - low - 1, low)
        return sums, [batch.error for batch in self._batches for _ in batch.variants]

    def _logits(self, batch: Batch, ids: list[int]) -> "list[torch.Tensor | None]":
        """(tokens, vocabulary) of each sequence."""
        n = len(batch.variants)
        found = batch.forward(torch.tensor([ids] * n))
        return [None] * n if found is None else list(found)

    def _output(self, tokens: list[int], reference: list[int]) -> Output:
        ended = bool(tokens) and tokens[-1] in self._ends
        kept = tokens[:-1] if ended else tokens
        apart = next((i for i, (ours, theirs) in enumerate(zip(tokens, reference, strict=False)) if ours != theirs), None)
        if apart is None and len(tokens) != len(reference):
            apart = min(len(tokens), len(reference))
        return Output(self._tokenizer.decode(kept, skip_special_tokens=True), tuple(kept), ended, apart)


def _ends(module: "torch.nn.Module", tokenizer: Tokenizer) -> frozenset[int]:
    """The tokens that end a text, as the generation config or the tokenizer says."""
    found = getattr(getattr(module, "generation_config", None), "eos_token_id", None)
    several = found if isinstance(found, list) else [found, tokenizer.eos_token_id]
    return frozenset(one for one in several if one is not None)
