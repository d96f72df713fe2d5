"""Over how many of the same cards a server would start that does not on those it has."""

from collections.abc import Callable, Iterator

from kvplan.checker.case import Reading
from kvplan.checker.wording import SPELLED
from kvplan.core.ledger import Refusal
from kvplan.estimator import Estimate

_MEMORY = ("KV102", "KV103", "KV105", "KV350", "KV354", "KV359")
HEADS = ("KV112", "KV113", "KV116", "KV352")
_MOST_CARDS = 16


def mended(said: Reading, found: Estimate, again: Callable[[int], Estimate | None]) -> int | None:
    """The nearest tensor parallelism that starts; None where none does, nothing of it is wrong, or the engine has none.

    ``again`` estimates the server with another one.
    """
    if said.engine not in SPELLED or said.tp is None or not found.refusals:
        return None
    return next((tp for tp in _candidates(said.tp, found.refusals) if _starts(again(tp))), None)


def _candidates(tp: int, refusals: tuple[Refusal, ...]) -> Iterator[int]:
    """More cards for want of memory, in powers of two; fewer where heads can't be split, then more."""
    rules = {refusal.rule for refusal in refusals}
    if rules & {*HEADS}:
        yield from range(tp - 1, 0, -1)
    if rules & {*HEADS, *_MEMORY}:
        yield from (2**i for i in range(_MOST_CARDS.bit_length()) if 2**i > tp)


def _starts(estimate: Estimate | None) -> bool:
    return estimate is not None and not estimate.refusals
