"""Many settings and workloads at once: their whole grid, or one thing varied at a time."""

from collections.abc import Iterable, Iterator
from functools import cached_property, lru_cache
from itertools import groupby, product
from typing import TYPE_CHECKING, NamedTuple

from kvplan.core.device import Place
from kvplan.core.errors import KvplanError, RequestError
from kvplan.core.ledger import Finding, Interval, Refusal, Verdict
from kvplan.core.units import parse_count
from kvplan.core.workload import Workload
from kvplan.estimator import inverse
from kvplan.estimator.demand import ANY, checked, usual_ctx, within
from kvplan.estimator.options import Options
from kvplan.estimator.subject import Subject, subject

if TYPE_CHECKING:
    from typing import Unpack

    from kvplan.estimator.options import Lists

WORKLOAD = ("ctx", "batch")
_FIRST, _NEVER = ("model", "engine"), ("command",)
_ORDER = (*_FIRST, *(name for name in Options._fields if name not in (*_FIRST, *_NEVER, *WORKLOAD)), *WORKLOAD)


class Axis(NamedTuple):
    """An option and what it takes in turn, in words; of a context or a batch that nobody named, None."""

    option: str
    values: tuple[str | None, ...]


class Point(NamedTuple):
    """What one choice of values needs on its fullest place, and whether that fits.

    ``at`` are the values of the axes, in their order. ``refusals`` are the engine's own; ``error`` is why there is no answer, and
    then there is no ``load`` and nothing that follows. ``about`` is what the values of all axes but the workload's mean, where they mean
    something. ``beyond_limit``: the context is longer than the model was made for. ``warnings`` are what these settings do
    that they don't show.
    """

    at: tuple[str | None, ...]
    about: Subject | None = None
    load: Workload | None = None
    needed: Interval | None = None
    headroom_bytes: int | None = None
    verdict: Verdict = "unknown"
    refusals: tuple[Refusal, ...] = ()
    beyond_limit: bool = False
    warnings: tuple[Finding, ...] = ()
    error: KvplanError | None = None

    @property
    def starts(self) -> bool:
        """Whether it fits for certain, nobody says no, and the model goes so far."""
        return self.verdict == "fits" and not self.refusals and not self.beyond_limit


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


def sweep(model: "str | Iterable[str]", *, one_at_a_time: bool = False, **options: "Unpack[Lists]") -> Sweep:
    """What many settings take: ``sweep("llama-2-7b", ctx=[4096, 8192], batch=range(1, 9), gpu="h100-sxm")``.

    Options are those of ``kvplan.estimate``, each a value or several. All choices are looked at, or with ``one_at_a_time`` each
    option's values beside the first ones of all others. No hardware is probed. What is wrong with a point is its ``error``;
    raises KvplanError where no point has an answer.
    """
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
        settled = _Settled(Options(command=command, **dict(zip(names, others, strict=True))), probe=probe)
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


class _Settled:
    """All but context and batch; what they don't change is found once."""

    def __init__(self, options: Options, *, probe: bool) -> None:
        self._options, self._probe = options, probe
        self._commanded = len(options.command) > 1
        self._followed: object = None
        self._last: _Deployed | None = None

    def point(self, at: tuple[str | None, ...]) -> Point:
        """The answer at ``at``, whose last two values are context and batch."""
        try:
            about = self._about
            ctx = usual_ctx(about.model) if at[-2] is None else _count(at[-2], "--ctx")
            batch = 1 if at[-1] is None else _count(at[-1], "--batch")
            load = checked(ctx, batch, None if self._options.prompt is None else _count(self._options.prompt, "--prompt"))
            return self._deployed(load).point(at, load)
        except KvplanError as reason:
            return Point(at, self.__dict__.get("_about"), error=reason)

    @cached_property
    def _about(self) -> Subject:
        return subject(self._options, probe=self._probe)

    @cached_property
    def _places(self) -> tuple[Place, ...]:
        return self._about.node.places()

    def _deployed(self, load: Workload) -> "_Deployed":
        """What the settings for this workload make; the same object as long as they stay the same."""
        about = self._about
        shape = ANY if self._commanded else load
        followed = [getattr(shape, name) for name in about.engine.follows]
        if self._last is None or followed != self._followed:
            self._last, self._followed = _Deployed(about, self._places, shape), followed
        if self._commanded:
            self._last.check(load)
        return self._last


class _Deployed:
    """A deployment, and the places by which it is judged, each with what is usable there."""

    def __init__(self, about: Subject, places: tuple[Place, ...], load: Workload) -> None:
        settings = about.engine.resolve(about.parsed, load, about.model, about.node, about.version)
        deployment = about.engine.deploy(about.model, settings, about.node)
        if not about.node.gpus:
            places = inverse.places(about.node, deployment.entries(load))
        self._places = [(place.id, inverse.usable_bytes(deployment, place)) for place in places]
        self._refusals = (*about.parsed.refusals, *deployment.refusals)
        self._warnings = tuple(finding for finding in deployment.findings if finding.level == "warning")
        self._need, self._most = deployment.need_bytes, about.engine.limits(settings)
        self._about, self._limit = about, about.model.max_ctx_tokens

    def check(self, load: Workload) -> None:
        """Raises RequestError for a workload beyond what the settings allow."""
        within(load.ctx_tokens, self._most[0], "--ctx")
        within(load.batch, self._most[1], "--batch")

    def point(self, at: tuple[str | None, ...], load: Workload) -> Point:
        """The answer for one workload: the fullest GPU's need (the host's where there is none), the worst verdict of all places."""
        fullest: tuple[Interval, int | None] | None = None
        verdict: Verdict = "fits"
        for place, usable in self._places:
            needed = self._need(place, load)
            if fullest is None or (place != "host" and needed.best > fullest[0].best):
                fullest = needed, usable
            here = inverse.verdict(usable, needed)
            verdict = verdict if here == verdict else min(verdict, here, key=_FROM_WORST.index)
        assert fullest is not None
        needed, usable = fullest
        headroom = None if usable is None else usable - needed.best
        beyond = self._limit is not None and load.ctx_tokens > self._limit
        return Point(at, self._about, load, needed, headroom, verdict, self._refusals, beyond, self._warnings)


_FROM_WORST: tuple[Verdict, ...] = ("does_not_fit", "tight", "unknown", "fits")


@lru_cache(maxsize=1024)
def _count(text: str, option: str) -> int:
    return parse_count(text, option=option)


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
