"""Many settings and workloads at once: their whole grid, or one thing varied at a time."""

from collections.abc import Iterable, Iterator
from itertools import groupby, product
from typing import TYPE_CHECKING, NamedTuple

from kvplan.core.errors import RequestError
from kvplan.estimator.options import Options
from kvplan.estimator.swept import Point, Settled

if TYPE_CHECKING:
    from typing import Unpack

    from kvplan.estimator.knee import Knee
    from kvplan.estimator.options import Lists

WORKLOAD = ("ctx", "batch")
_FIRST, _NEVER = ("model", "engine"), ("command",)
_ORDER = (*_FIRST, *(name for name in Options._fields if name not in (*_FIRST, *_NEVER, *WORKLOAD)), *WORKLOAD)


class Axis(NamedTuple):
    """An option and what it takes in turn, in words; of a context or a batch that nobody named, None."""

    option: str
    values: tuple[str | None, ...]


class Reach(NamedTuple):
    """The longest of the contexts that fits with these values of the other axes; None where none does."""

    at: tuple[str | None, ...]
    ctx_tokens: int | None


class Sweep(NamedTuple):
    """The answer: a point for each choice of values, with the last axis changing fastest."""

    axes: tuple[Axis, ...]
    points: tuple[Point, ...]

    @property
    def frontier(self) -> tuple[Reach, ...]:
        """The longest context that fits, for each choice of all else."""
        return frontier(self.axes, self.points)

    @property
    def knees(self) -> "tuple[Knee, ...]":
        """Where more sequences at once stop making more tokens a second, for each choice of all but the batch."""
        from kvplan.estimator.knee import knees

        return knees(self.points)


def sweep(model: "str | Iterable[str]", *, one_at_a_time: bool = False, **options: "Unpack[Lists]") -> Sweep:
    """What many settings take: ``sweep("llama-2-7b", ctx=[4096, 8192], batch=range(1, 9), gpu="h100-sxm")``.

    Options are those of ``kvplan.estimate``, each a value or several. All choices are looked at, or with ``one_at_a_time`` each
    option's values beside the first ones of all others. No hardware is probed. What is wrong with a point is its ``error``;
    raises KvplanError where no point has an answer, TypeError for an option that there is none.
    """
    stray = next((name for name in options if name not in _ORDER), None)
    if stray is not None:
        raise TypeError(f"sweep() got an unexpected keyword argument '{stray}'")
    listed = {name: _listed(value) for name, value in {"model": model, **options}.items() if value is not None}
    found = axes(listed)
    return Sweep(found, tuple(answered(points(found, one_at_a_time=one_at_a_time))))


def _listed(value: object) -> tuple[str, ...]:
    return tuple(map(str, value)) if isinstance(value, Iterable) and not isinstance(value, str) else (str(value),)


def axes(values: dict[str, tuple[str, ...]]) -> tuple[Axis, ...]:
    """An axis for each option that has values, and for context and batch; a value that is said twice counts once.

    Raises RequestError for an option without a value.
    """
    empty = next((name for name, found in values.items() if not found or "" in found), None)
    if empty is not None:
        raise RequestError("usage", f"--{empty.replace('_', '-')}: a value is missing", hint="part them by commas: 4k,8k")
    said = {name: tuple(dict.fromkeys(found)) for name, found in values.items()}
    return tuple(Axis(name, said.get(name, (None,))) for name in _ORDER if name in said or name in WORKLOAD)


def answered(points: Iterable[Point]) -> Iterator[Point]:
    """These points, from when one has an answer. Raises the first one's error where none has."""
    waiting: list[Point] = []
    rest = iter(points)
    for point in rest:
        waiting.append(point)
        if point.error is None:
            yield from waiting
            yield from rest
            return
    if waiting and waiting[0].error is not None:
        raise waiting[0].error


def points(axes: tuple[Axis, ...], *, one_at_a_time: bool = False, probe: bool = False, command: tuple[str, ...] = ()) -> Iterator[Point]:
    """A point after the other, made as they are asked for. ``probe`` looks for an attached GPU where no hardware is named.

    ``command`` is the engine's own in all points: its flags are the limits, and a workload beyond them is an error.
    """
    names = [axis.option for axis in axes[: -len(WORKLOAD)]]
    for others, choices in groupby(combinations(axes, one_at_a_time=one_at_a_time), key=lambda at: at[: -len(WORKLOAD)]):
        settled = Settled(Options(command=command, **dict(zip(names, others, strict=True))), probe=probe)
        yield from map(settled.point, choices)


def combinations(axes: tuple[Axis, ...], *, one_at_a_time: bool) -> Iterator[tuple[str | None, ...]]:
    """All choices of values; or the first of all, then those that differ from it in one."""
    if not one_at_a_time:
        yield from product(*(axis.values for axis in axes))
        return
    first = tuple(axis.values[0] for axis in axes)
    yield first
    for i, axis in enumerate(axes):
        yield from ((*first[:i], value, *first[i + 1 :]) for value in axis.values[1:])


def frontier(axes: tuple[Axis, ...], points: Iterable[Point]) -> tuple[Reach, ...]:
    """The longest context with which these points start, for each choice of all else that has an answer; nothing where no context is
    varied."""
    ctx = [axis.option for axis in axes].index("ctx")
    if len(axes[ctx].values) == 1:
        return ()
    found: dict[tuple[str | None, ...], int | None] = {}
    for point in points:
        if point.load is not None:
            others = (*point.at[:ctx], *point.at[ctx + 1 :])
            longest = found.setdefault(others, None)
            found[others] = max(longest or 0, point.load.ctx_tokens) if point.starts else longest
    return tuple(Reach(at, longest) for at, longest in found.items())
