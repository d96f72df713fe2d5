"""The answer to an estimate; ``render`` turns it into text or JSON."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

from kvplan.core.device import Node, Place
from kvplan.core.engine import Capacity, Flag
from kvplan.core.ledger import Entry, Finding, Interval, KvPlan, NotModeled, Phases, Refusal, Verdict
from kvplan.core.model import ModelSpec
from kvplan.core.workload import Workload
from kvplan.estimator import inverse

if TYPE_CHECKING:
    from kvplan.perf import Performance


class PlaceTotal(NamedTuple):
    """What one place holds, and what this workload needs of what the engine may use there."""

    place: Place
    usable_bytes: int | None
    total: Interval
    needed: Interval
    verdict: Verdict


class Candidate(NamedTuple):
    """A node that would do."""

    gpu: str
    n_devices: int
    headroom_bytes: int


class Size(NamedTuple):
    """The model's parameters, counted once however often it is asked about."""

    n_params: int
    n_active_params: int


class Estimate(NamedTuple):
    """Where each byte goes for one request, and what that means."""

    model: ModelSpec
    size: Size
    engine: str
    version: str
    settings: Mapping[str, int | float | str | bool | None]
    ignored: tuple[Flag, ...]
    command: tuple[str, ...]
    workload: Workload
    node: Node
    entries: tuple[Entry, ...]
    places: tuple[PlaceTotal, ...]
    phases: Phases
    kv: KvPlan
    capacity: Capacity | None
    refusals: tuple[Refusal, ...]
    fits_on: tuple[Candidate, ...]
    predicted_log: tuple[str, ...]
    not_modeled: tuple[NotModeled, ...]
    findings: tuple[Finding, ...]
    performance: "Performance | None" = None

    @property
    def fullest(self) -> PlaceTotal:
        """The GPU that decides: of the worst verdict, with the least left, of which most is needed; the host when there is no GPU."""
        gpus = [place for place in self.places if place.place.id != "host"]
        return min(gpus or self.places, key=lambda place: inverse.pressing(place.usable_bytes, place.needed, place.verdict))

    @property
    def needed(self) -> Interval:
        """Bytes that this workload needs on the fullest place."""
        return self.fullest.needed

    @property
    def verdict(self) -> Verdict:
        """The worst verdict of any place; a host of unknown size has none where there are accelerators."""
        told = [place for place in self.places if place.place.id != "host" or place.verdict != "unknown"]
        return min((place.verdict for place in told or self.places), key=inverse.FROM_WORST.index)

    @property
    def host_is_short(self) -> bool:
        """Whether the GPUs hold their part, and the host's memory is what is too small."""
        return self.fullest.verdict != "does_not_fit" and self.verdict == "does_not_fit"

    @property
    def headroom_bytes(self) -> int | None:
        """What is left on the fullest place after this workload; negative where it does not fit."""
        usable = self.fullest.usable_bytes
        return None if usable is None else usable - self.fullest.needed.best
