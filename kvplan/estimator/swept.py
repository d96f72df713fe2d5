"""A point of a sweep, and what is found once for all that differ from it by context and batch alone."""

from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from kvplan.core.device import Place
from kvplan.core.errors import KvplanError
from kvplan.core.ledger import Finding, Interval, Refusal, Verdict
from kvplan.core.remembered import cached
from kvplan.core.units import MAX_COUNT, parse_count
from kvplan.core.workload import Workload
from kvplan.estimator import inverse
from kvplan.estimator.demand import ANY, checked, usual_ctx, within
from kvplan.estimator.options import Options
from kvplan.estimator.subject import Subject, subject

if TYPE_CHECKING:
    from kvplan.estimator.speed import Prepared
    from kvplan.perf import Performance, Range


class Point(NamedTuple):
    """What one choice of values needs on its fullest place, and whether that fits.

    ``at`` are the values of the axes, in their order. ``refusals`` are the engine's own; ``error`` is why there is no answer, and
    then there is no ``load`` and nothing that follows. ``about`` is what the values of all axes but the workload's mean, where they mean
    something. ``beyond_limit``: the context is longer than the model was made for. ``warnings`` are what these settings do
    that they don't show. ``deployed`` is what these settings make, of which ``performance`` is asked only where somebody looks.
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
    deployed: "Deployed | None" = None

    @property
    def performance(self) -> "Performance | None":
        """How fast it is, with as many sequences at once as run; None where none does, or too little is known."""
        return self.deployed.speed(self.load, self.verdict) if self.deployed and self.load else None

    @property
    def tokens_per_s(self) -> "Range | None":
        """Of ``performance`` the rate of all sequences together, which is found sooner."""
        return self.deployed.rate(self.load, self.verdict) if self.deployed and self.load else None

    @property
    def starts(self) -> bool:
        """Whether it fits for certain, nobody says no, and the model goes so far."""
        return self.verdict == "fits" and not self.refusals and not self.beyond_limit


class Settled:
    """All but context and batch; what they don't change is found once."""

    def __init__(self, options: Options, *, probe: bool) -> None:
        """``probe`` looks for an attached GPU where the options name no hardware."""
        self._options, self._probe = options, probe
        self._commanded = len(options.command) > 1
        self._followed: object = None
        self._last: Deployed | None = None

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

    @cached
    def _about(self) -> Subject:
        return subject(self._options, probe=self._probe)

    @cached
    def _places(self) -> tuple[Place, ...]:
        return self._about.node.places()

    def _deployed(self, load: Workload) -> "Deployed":
        """What the settings for this workload make; the same object as long as they stay the same."""
        about = self._about
        shape = ANY if self._commanded else load
        followed = [getattr(shape, name) for name in about.engine.follows]
        if self._last is None or followed != self._followed:
            self._last, self._followed = Deployed(about, self._places, shape), followed
        if self._commanded:
            self._last.check(load)
        return self._last


class Deployed:
    """A deployment, and the places by which it is judged, each with what is usable there."""

    def __init__(self, about: Subject, places: tuple[Place, ...], load: Workload) -> None:
        """The settings that ``load`` makes, on the node's ``places``."""
        settings = about.engine.resolve(about.parsed, load, about.model, about.node, about.version)
        deployment = about.engine.deploy(about.model, settings, about.node)
        if not about.node.gpus:
            places = inverse.places(about.node, deployment.entries(load))
        self._places = [(place.id, inverse.usable_bytes(deployment, place)) for place in places]
        self._refusals = (*about.parsed.refusals, *deployment.refusals)
        self._warnings = tuple(finding for finding in deployment.findings if finding.level == "warning")
        self._need, self._deployment, self._settings = deployment.need_bytes, deployment, settings
        self._about, self._limit = about, about.model.reach_tokens
        self._most: dict[tuple[int, int], int] = {}

    def check(self, load: Workload) -> None:
        """Raises RequestError for a workload beyond what the settings allow."""
        most = self._about.engine.limits(self._settings)
        within(load.ctx_tokens, most[0], "--ctx")
        within(load.batch, most[1], "--batch")

    def point(self, at: tuple[str | None, ...], load: Workload) -> Point:
        """The answer for one workload: the fullest GPU's need (the host's where there is none), the worst verdict of all places."""
        fullest: tuple[Interval, int | None] | None = None
        first: tuple[int, int, int] | None = None
        verdict: Verdict = "fits"
        for place, usable in self._places:
            needed = self._need(place, load)
            here = inverse.verdict(usable, needed)
            rank = inverse.pressing(usable, needed, here)
            if first is None or (place != "host" and rank < first):
                fullest, first = (needed, usable), rank
            verdict = verdict if here == verdict else min(verdict, here, key=inverse.FROM_WORST.index)
        assert fullest is not None
        needed, usable = fullest
        headroom = None if usable is None else usable - needed.best
        beyond = self._limit is not None and load.ctx_tokens > self._limit
        return Point(at, self._about, load, needed, headroom, verdict, self._refusals, beyond, self._warnings, deployed=self)

    def speed(self, load: Workload, verdict: Verdict) -> "Performance | None":
        """How fast this workload is."""
        batch = self._running(load, verdict)
        return self._ready.at(load, batch) if batch and self._ready else None

    def rate(self, load: Workload, verdict: Verdict) -> "Range | None":
        """Its tokens per second."""
        batch = self._running(load, verdict)
        return self._ready.rate(load, batch) if batch and self._ready else None

    def _running(self, load: Workload, verdict: Verdict) -> int:
        """Sequences at once whose speed is known."""
        from kvplan.estimator import speed

        about = self._about
        if self._refusals or self._ready is None:
            return 0
        limit = about.engine.limits(self._settings)[1]
        if verdict != "does_not_fit":
            return speed.running(self._deployment, about.node, load, verdict, limit)
        length = load.ctx_tokens, load.prompt_tokens
        if length not in self._most:  # the same for all batches that do not fit
            self._most[length] = speed.running(self._deployment, about.node, load._replace(batch=MAX_COUNT), verdict, limit)
        return min(load.batch, self._most[length])

    @cached
    def _ready(self) -> "Prepared | None":
        from kvplan.estimator import speed

        about = self._about
        return speed.prepared(about.engine, self._settings, self._deployment, about.model, about.node)


@lru_cache(maxsize=1024)
def _count(text: str, option: str) -> int:
    return parse_count(text, option=option)
