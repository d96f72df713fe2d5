"""What the samples say of one cache: sums of all of them, as people compare caches."""

import math
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from kvplan.verifier.fidelity.asked import EDGES, Bucket, Output, Row
from kvplan.verifier.fidelity.samples import Sample, matches

GRAM = 4


class Judgment(NamedTuple):
    """How a cache judges text whose next tokens are known, over ``n_tokens`` of it.

    ``kl`` is KL(reference ‖ cache) in nats, ``top1`` the share of tokens whose most likely successor is the reference's.
    """

    n_tokens: int
    kl: float
    top1: float


class Distance(NamedTuple):
    """The same of the tokens with so many before them: from ``from_tokens`` to below ``to_tokens``, None where nothing ends it."""

    from_tokens: int
    to_tokens: int | None
    judgment: Judgment
    n_answers: int
    n_right: int


class Measures(NamedTuple):
    """Of one cache. What speaks of plain text is None where none was read.

    ``log_rise`` is the mean rise of −ln p over the reference's, ``log_rise_error`` its standard error. ``n_right`` answers of
    ``n_answers`` begin with what is known; ``n_lost`` and ``n_won`` are those that the reference had right and wrong. Of the outputs
    ``n_diverged`` part from the reference's, at the token ``divergence`` in the median; ``repetition`` is the share of 4-grams that were
    there before (seq-rep-4 of Welleck et al. 2020, arXiv:1908.04319 §6.1); ``n_broken_off`` ended before the reference's did, ``n_ran_on``
    did not end where the reference's did.
    """

    perplexity: float | None
    log_rise: float | None
    log_rise_error: float | None
    judgment: Judgment
    distances: tuple[Distance, ...]
    n_answers: int
    n_right: int
    n_lost: int
    n_won: int
    n_diverged: int
    divergence: int | None
    repetition: float | None
    n_broken_off: int
    n_ran_on: int


class Answer(NamedTuple):
    """One sample with one cache and with the reference."""

    sample: Sample
    n_prompt: int
    row: Row
    reference: Row


def measures(answers: Sequence[Answer]) -> Measures:
    """What all samples say together."""
    texts = _sum(bucket for one in answers if one.sample.is_text for bucket in one.row.buckets.values())
    pairs = [(one.row.output, one.reference.output) for one in answers if one.row.output and one.reference.output]
    right = [(_is_right(one, one.row), _is_right(one, one.reference)) for one in answers if one.row.output]
    apart = sorted(ours.divergence for ours, _ in pairs if ours.divergence is not None)
    mean = texts.rise / texts.n if texts.n else None
    return Measures(
        perplexity=math.exp(min(texts.nll / texts.n, 700.0)) if texts.n else None,
        log_rise=mean,
        log_rise_error=None if mean is None or texts.n < 2 else math.sqrt(max(0.0, texts.rise_squared / texts.n - mean**2) / (texts.n - 1)),
        judgment=_judgment(_sum(bucket for one in answers for bucket in one.row.buckets.values())),
        distances=tuple(_distances(answers)),
        n_answers=len(right),
        n_right=sum(ours for ours, _ in right),
        n_lost=sum(theirs and not ours for ours, theirs in right),
        n_won=sum(ours and not theirs for ours, theirs in right),
        n_diverged=len(apart),
        divergence=apart[(len(apart) - 1) // 2] if apart else None,
        repetition=_repetition([ours for ours, _ in pairs]),
        n_broken_off=sum(ours.ended and (not theirs.ended or len(ours.tokens) < len(theirs.tokens)) for ours, theirs in pairs),
        n_ran_on=sum(theirs.ended and not ours.ended for ours, theirs in pairs),
    )


def _is_right(one: Answer, row: Row) -> bool:
    assert row.output is not None
    return matches(row.output.text, one.sample.answer or "")


def _sum(buckets: Iterable[Bucket]) -> Bucket:
    total = Bucket()
    for one in buckets:
        total = total.plus(one)
    return total


def _judgment(total: Bucket) -> Judgment:
    n = total.n or 1
    return Judgment(total.n, max(0.0, total.kl / n), total.agreed / n)  # rounding may leave it a little below nothing


def _distances(answers: Sequence[Answer]) -> Iterator[Distance]:
    for edge, end in zip(EDGES, (*EDGES[1:], None), strict=True):
        total = _sum(one.row.buckets[edge] for one in answers if edge in one.row.buckets)
        asked = [one for one in answers if one.row.output and edge <= one.n_prompt and (end is None or one.n_prompt < end)]
        if total.n or asked:
            yield Distance(edge, end, _judgment(total), len(asked), sum(_is_right(one, one.row) for one in asked))


def _repetition(outputs: Sequence[Output]) -> float | None:
    """Over all outputs that are long enough to have any."""
    grams = [[one.tokens[i : i + GRAM] for i in range(len(one.tokens) - GRAM + 1)] for one in outputs]
    n = sum(map(len, grams))
    return 1 - sum(len(set(one)) for one in grams) / n if n else None
