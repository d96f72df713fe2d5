"""Where the bytes of several answers differ, term by term, and what the last word on each is."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from kvplan.core.ledger import ZERO, Interval, total
from kvplan.estimator import Estimate


class Row(NamedTuple):
    """One term on the fullest place of each side; ``deltas`` are best guesses beside the first side's."""

    term: str
    sizes: tuple[Interval, ...]
    deltas: tuple[int, ...]
    differs: bool


class Change(NamedTuple):
    """A figure of each side, None where a side has none; ``higher_is_better`` where one can say so."""

    name: str
    values: tuple[int | float | str | None, ...]
    higher_is_better: bool | None = None

    @property
    def differs(self) -> bool:
        """Whether the sides do."""
        return len(set(self.values)) > 1


def rows(answers: Sequence[Estimate]) -> tuple[Row, ...]:
    """Each term that any side has, in the order of the first that has it, then what is held and what is needed."""
    terms = list(dict.fromkeys(entry.term for found in answers for entry in found.entries if entry.place == found.fullest.place.id))
    named = [(str(term), [_size(found, term) for found in answers]) for term in terms]
    named += [("total", [found.fullest.total for found in answers]), ("needed", [found.needed for found in answers])]
    return tuple(_row(name, sizes) for name, sizes in named)


def _size(found: Estimate, term: str) -> Interval:
    place = found.fullest.place.id
    return total(entry.size for entry in found.entries if entry.term == term and entry.place == place) or ZERO


def _row(name: str, sizes: Sequence[Interval]) -> Row:
    deltas = tuple(size.best - sizes[0].best for size in sizes)
    return Row(name, tuple(sizes), deltas, differs=len(set(sizes)) > 1)


_FIGURES: tuple[tuple[str, Callable[[Estimate], int | float | str | None], bool | None], ...] = (
    ("verdict", lambda found: found.verdict, None),
    ("refused", lambda found: found.refusals[0].rule if found.refusals else None, None),
    ("headroom_bytes", lambda found: found.headroom_bytes, True),
    ("max_ctx_tokens", lambda found: found.capacity.max_ctx_tokens if found.capacity else None, True),
    ("max_batch", lambda found: found.capacity.max_batch if found.capacity else None, True),
    ("kv_tokens", lambda found: found.capacity.kv_tokens.best if found.capacity and found.capacity.kv_tokens else None, True),
    (
        "max_concurrency",
        lambda found: found.capacity.max_concurrency[1] if found.capacity and found.capacity.max_concurrency else None,
        True,
    ),
    ("decode_tokens_per_s", lambda found: found.performance.decode_tokens_per_s.best if found.performance else None, True),
    ("reserved_bytes", lambda found: found.kv.reserved_bytes, False),
    ("bytes_per_token", lambda found: found.kv.bytes_per_token, False),
    ("marginal_bytes_per_token", lambda found: found.kv.marginal_bytes_per_token, False),
)


def changes(answers: Sequence[Estimate]) -> tuple[Change, ...]:
    """Verdict, headroom, context and concurrency of each side."""
    return tuple(Change(name, tuple(figure(found) for found in answers), better) for name, figure, better in _FIGURES)
