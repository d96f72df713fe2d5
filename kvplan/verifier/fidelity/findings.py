"""What people should know of a study."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from kvplan.core.ledger import Finding
from kvplan.verifier.fidelity.measures import Measures

if TYPE_CHECKING:
    from kvplan.verifier.fidelity.study import Found


def findings(reference: Measures, found: "tuple[Found, ...]") -> tuple[Finding, ...]:
    """Caches that are bad, caches that another one beats, answers that say little."""
    return (*_bad(found), *_beaten(found), *_mute(reference))


def _bad(found: "tuple[Found, ...]") -> Iterator[Finding]:
    for one in found:
        if one.judged.verdict == "bad":
            message = f"a cache of {one.variant.name} costs this model too much: {one.judged.why}"
            yield Finding("KV660", "warning", message, "take more bits, smaller groups or K per channel, or a shorter context instead")


def _beaten(found: "tuple[Found, ...]") -> Iterator[Finding]:
    """By one that takes no more bytes and is clearly nearer to the reference: half the KL."""
    for one in found:
        better = [
            other
            for other in found
            if one.measures and other.measures and other.bytes <= one.bytes and 2 * other.measures.judgment.kl < one.measures.judgment.kl
        ]
        if one.judged.verdict in ("some_loss", "bad") and better:
            best = min(better, key=lambda other: other.measures.judgment.kl if other.measures else 0.0)
            message = f"{best.variant.name} takes no more memory than {one.variant.name} and is nearer to the reference"
            yield Finding("KV661", "note", message, f"take {best.variant.name} where the engine has it")


def _mute(reference: Measures) -> Iterator[Finding]:
    if reference.n_answers and 2 * reference.n_right < reference.n_answers:
        message = (
            f"with its full cache the model gets {reference.n_right} of {reference.n_answers} answers right: lost answers say little here"
        )
        yield Finding("KV662", "note", message, "judge by KL and perplexity, or give --samples that it can answer")
