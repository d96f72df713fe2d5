"""Many runs, each beside its estimate: latency, tokens per second and memory together."""

import hashlib
import json
from collections.abc import Callable
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from typing import Any, NamedTuple

from kvplan import __version__
from kvplan.core.errors import KvplanError
from kvplan.core.ledger import Interval, Verdict
from kvplan.estimator import Options
from kvplan.estimator.sweep import Axis
from kvplan.hardware import probe
from kvplan.verifier import checks, verification
from kvplan.verifier.configs import config_of
from kvplan.verifier.journal import Journal
from kvplan.verifier.observed import peak
from kvplan.verifier.record import plain, read_timings
from kvplan.verifier.run import Run
from kvplan.verifier.timings import Timings
from kvplan.verifier.verification import Verification

_ABORTS = ("torch_missing", "no_gpu", "gpu_missing")
"""What no other point would do without."""


class Failure(NamedTuple):
    """Why a run came to nothing, or to an end before its time."""

    kind: str
    message: str
    hint: str = ""


class Measurement(NamedTuple):
    """What one run came to; ``outcome`` is ``ran``, ``oom``, or ``failed``, with its ``failure``.

    ``peak_bytes`` are those of live tensors in prefill or decode, whichever is higher, with weights and cache; on a GPU
    ``device_bytes`` is all that the process took of it. What was estimated stands beside: the peak, and what is needed of a device.
    ``agrees``: every term of the run was within its tolerance. ``timings`` are None of a trace.
    """

    outcome: str
    failure: Failure | None = None
    model: str | None = None
    ctx_tokens: int | None = None
    batch: int | None = None
    prompt_tokens: int | None = None
    tier: str | None = None
    device: str | None = None
    peak_bytes: int | None = None
    estimated_peak_bytes: int | None = None
    device_bytes: int | None = None
    needed: Interval | None = None
    headroom_bytes: int | None = None
    verdict: Verdict = "unknown"
    agrees: bool | None = None
    timings: Timings | None = None
    versions: dict[str, str | None] | None = None

    @property
    def is_done(self) -> bool:
        """Whether another run would show nothing new."""
        return self.outcome in ("ran", "oom")


class Bench:
    """Runs points of a sweep; those that ``journal`` knows are not run again."""

    def __init__(self, axes: tuple[Axis, ...], run: Run, journal: Journal | None = None) -> None:
        """Raises UnavailableError where torch is missing."""
        checks.need_torch()
        self._names = [axis.option for axis in axes]
        self._run, self._journal = run._replace(backend=checks.tier(run.backend)), journal
        node = probe.attached() if self._run.backend == "cuda" else None
        self._device = node.gpus[0].name if node else None

    def known(self, at: tuple[str | None, ...]) -> Measurement | None:
        """What an earlier run found at ``at``, None where it has to be measured."""
        found = self._journal.known(self._key(at)) if self._journal else None
        past = None if found is None else from_json(found)
        return past if past is not None and past.is_done else None

    def measured(self, at: tuple[str | None, ...]) -> Measurement:
        """The run at ``at``, kept in the journal. Raises UnavailableError where no run can be made at all."""
        try:
            found = _measurement(verification.answer(self._options(at), self._run))
        except KvplanError as problem:
            if problem.kind in _ABORTS:
                raise
            found = Measurement("failed", Failure(problem.kind, problem.message, problem.hint))
        if self._journal:
            self._journal.keep(self._key(at), to_json(found))
        return found

    def _options(self, at: tuple[str | None, ...]) -> Options:
        return Options(command=(), **dict(zip(self._names, at, strict=True)))

    def _key(self, at: tuple[str | None, ...]) -> dict[str, object]:
        """Model, settings, versions: what a result holds for."""
        options = self._options(at)
        said = {name: value for name, value in options._asdict().items() if value not in (None, ())}
        about = {"config": _digest(options.model or ""), "device": self._device, "versions": _versions()}
        return {**said, **about, "run": self._run._asdict()}


@cache
def _digest(model: str) -> str | None:
    """Of the config that ``model`` names; None where it has none, which the run then says."""
    try:
        return hashlib.sha256(json.dumps(config_of(model), sort_keys=True).encode()).hexdigest()[:16]
    except KvplanError:
        return None


@cache
def _versions() -> dict[str, str | None]:
    return {"kvplan": __version__, "torch": _installed("torch"), "transformers": _installed("transformers")}


def _installed(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def _measurement(found: Verification) -> Measurement:
    record, estimate = found.record, found.estimate
    assert estimate is not None  # its point was estimated before it ran
    load, phases = estimate.workload, estimate.phases
    device = next((term.measured_bytes for term in found.terms if term.term == "total"), None)
    return Measurement(
        outcome=record.outcome,
        failure=None if record.error is None else Failure(record.outcome, record.error),
        model=record.job.id,
        **load._asdict(),
        tier=found.tier,
        device=record.device.name or None,
        peak_bytes=peak(record),
        estimated_peak_bytes=max(phases.prefill_peak_bytes or 0, phases.decode_peak_bytes or 0) or None,
        device_bytes=device,
        needed=estimate.needed,
        headroom_bytes=estimate.headroom_bytes,
        verdict=estimate.verdict,
        agrees=found.ok if record.outcome == "ran" else None,
        timings=record.timings,
        versions=record.versions,
    )


def to_json(found: Measurement) -> dict[str, object]:
    """The measurement as JSON values."""
    return {key: plain(value) for key, value in found._asdict().items()}


def from_json(data: dict[str, Any]) -> Measurement:
    """The measurement that ``to_json`` wrote. Raises KeyError or TypeError for anything else."""
    kinds: dict[str, Callable[..., object]] = {"failure": Failure, "needed": Interval, "timings": read_timings}
    return Measurement(**{**data, **{key: kind(**data[key]) for key, kind in kinds.items() if data[key] is not None}})
