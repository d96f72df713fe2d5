"""Peaks as linear forms: what is alive at one moment, ready to be evaluated for any workload in integers."""

from collections.abc import Iterable, Sequence
from operator import mul
from typing import NamedTuple

from kvplan.core.units import ceil_div, ceil_to
from kvplan.engines.transformers.kernels import Moment


class Chunks(NamedTuple):
    """Chunks of ``n_tokens``, of which the last is filled up: bytes of one, what is copied of each where the batch has several, and
    what is put in order where one prompt has."""

    n_tokens: int
    size: int
    copied: int = 0
    ordered: int = 0


class Line(NamedTuple):
    """Bytes alive at one moment: ``moment`` at rule ``rule``, and the caches of all layers.

    ``new`` and ``old`` are bytes per entry for each rule: of layers that already hold this pass's tokens, and of those
    that don't yet. ``row`` is bytes per sequence. ``kind`` is the kind of layer, None outside them. ``chunks`` are those in which
    the prompt is read.
    """

    moment: Moment
    rule: int
    new: tuple[int, ...]
    old: tuple[int, ...]
    row: int = 0
    kind: int | None = None
    chunks: Chunks | None = None


class Point(NamedTuple):
    """One forward pass: ``batch`` × ``queries`` tokens.

    For each rule: entries held with this pass's tokens (``new``) and without (``old``), and the tokens that its layers attend to.
    """

    batch: int
    queries: int
    new: tuple[int, ...]
    old: tuple[int, ...]
    attended: tuple[int, ...]


def peak(lines: Iterable[Line], point: Point, *, ragged: bool | None = None) -> int:
    """The largest of ``lines``. ``ragged`` says whether masks end off a multiple of 8; None looks at the point."""
    most = 0
    batch, queries, now, before, attended = point
    tokens = batch * queries
    for (token, pair, per_attended, padded, uneven, square, _what), rule, new, old, row, _kind, chunks in lines:
        size = token * tokens + batch * (row + sum(map(mul, new, now)) + sum(map(mul, old, before)))
        if chunks:
            each = ceil_div(queries, chunks.n_tokens)
            moved = (chunks.copied if batch * each > 1 else 0) + (chunks.ordered if each > 1 else 0)
            size += batch * each * (chunks.size + moved)
        if pair or per_attended or padded or square:
            seen = attended[rule]
            size += seen * (pair * tokens + per_attended * batch + square * queries)
            if padded or uneven:
                rounded = ceil_to(seen, 8)
                size += padded * tokens * rounded
                if uneven and (rounded != seen if ragged is None else ragged):
                    size += uneven * tokens * rounded
        if size > most:
            most = size
    return most


def binding(lines: Sequence[Line], point: Point) -> Line:
    """The line whose moment is the peak."""
    return max(lines, key=lambda line: peak((line,), point))


def unbeaten(lines: Sequence[Line]) -> tuple[Line, ...]:
    """``lines`` without those that a later one covers in every coefficient: models whose layers all differ have dozens."""
    kept: list[Line] = []
    for line in reversed(lines):
        if not any(_covers(other, line) for other in kept):
            kept.append(line)
    return tuple(reversed(kept))


def _covers(b: Line, a: Line) -> bool:
    """Whether ``b`` is never below ``a``: they look at the same tokens, and no coefficient of ``b`` is smaller."""
    if (b.rule, b.chunks) != (a.rule, a.chunks) or b.row < a.row:
        return False
    coefficients = zip((*b.moment[:-1], *b.new, *b.old), (*a.moment[:-1], *a.new, *a.old), strict=True)
    return all([x >= y for x, y in coefficients])


def largest(moments: Sequence[Moment]) -> list[Moment]:
    """``moments`` without those that another one exceeds in every coefficient."""
    return [a for i, a in enumerate(moments) if not any(_exceeds(b, a, first=j < i) for j, b in enumerate(moments) if j != i)]


def _exceeds(b: Moment, a: Moment, *, first: bool) -> bool:
    """Whether ``b`` is at least ``a`` everywhere; of equals the first stays."""
    sizes, others = b[:-1], a[:-1]
    return all([x >= y for x, y in zip(sizes, others, strict=True)]) and (sizes != others or first)
