"""What a run on a GPU measured of its overheads, in the place of what is known of such GPUs in general: only where a file is named."""

from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from kvplan.core.device import Node
from kvplan.core.engine import Deployment, Engine
from kvplan.core.errors import RequestError
from kvplan.core.ledger import Entry, Finding, Interval, Term, total
from kvplan.core.model import ModelSpec
from kvplan.core.workload import Workload
from kvplan.estimator.registry import find_engine
from kvplan.specs.files import read_json

KEY = "calibration"
TORCH_MAJOR = "2"
"""Another major version of torch may allocate otherwise; within it, the file's version is shown and taken."""

CONSTANT: tuple[Term, ...] = ("runtime_context", "workspace")
SHARE: Term = "allocator"


class Calibration(NamedTuple):
    """The overheads of one GPU: bytes, of the allocator those that it held back beside ``transient_bytes`` of cache and activations."""

    file: str
    engine: str
    gpu_id: str
    gpu_name: str
    driver: str | None
    torch: str
    taken_at: str
    sizes: Mapping[Term, Interval]
    transient_bytes: int

    def entry(self, modeled: Entry) -> Entry:
        """``modeled`` as measured; as it is where that was not measured."""
        size = self.sizes.get(modeled.term)
        if size is None:
            return modeled
        source = f"measured on {self.gpu_name} on {self.taken_at[:10]}: {self.file}"
        inputs: dict[str, int | str] = {"gpu": self.gpu_name, "measured": size.best}
        formula = "{measured} B on {gpu}"
        if modeled.term == SHARE:
            now = int(modeled.inputs["transient"])
            size = Interval(*(bound * now // self.transient_bytes for bound in size))
            inputs |= {"transient": now, "then": self.transient_bytes}
            formula = "{measured} B beside {then} B on {gpu} · {transient} / {then}"
        return modeled._replace(size=size, basis="measured", formula=formula, inputs=inputs, source=source)


class CalibratedDeployment:
    """Implements the seam's Deployment: another one's, its overheads replaced."""

    def __init__(self, modeled: Deployment, calibration: Calibration) -> None:
        """What ``modeled`` answers, but for the overheads."""
        self._modeled, self._calibration = modeled, calibration
        self.refusals, self.not_modeled = modeled.refusals, modeled.not_modeled
        self.findings = (*modeled.findings, _used(calibration))
        self.usable_bytes, self.phases, self.kv = modeled.usable_bytes, modeled.phases, modeled.kv
        self.capacity, self.resolved, self.log_lines, self.held = modeled.capacity, modeled.resolved, modeled.log_lines, modeled.held

    def entries(self, load: Workload) -> tuple[Entry, ...]:
        """The ledger."""
        return tuple(map(self._calibration.entry, self._modeled.entries(load)))

    def need_bytes(self, place: str, load: Workload) -> Interval:
        """The sum of the entries: without a pool, what is held is what is needed."""
        return total(entry.size for entry in self.entries(load) if entry.place == place)


class CalibratedEngine:
    """Implements the seam's Engine: another one, calibrated on the GPU that was measured and as it is on all others."""

    def __init__(self, engine: Engine[object], calibration: Calibration) -> None:
        """All but ``deploy`` is that of ``engine``."""
        self._engine, self._calibration = engine, calibration
        self.name, self.versions, self.options, self.formats = engine.name, engine.versions, engine.options, engine.formats
        self.follows, self.parse, self.resolve = engine.follows, engine.parse, engine.resolve
        self.command, self.limits, self.shown, self.pace = engine.command, engine.limits, engine.shown, engine.pace

    def deploy(self, model: ModelSpec, settings: object, node: Node) -> Deployment:
        """The deployment, calibrated on such a GPU."""
        modeled = self._engine.deploy(model, settings, node)
        same = [gpu.id for gpu in node.gpus] == [self._calibration.gpu_id]
        return CalibratedDeployment(modeled, self._calibration) if same else modeled


def calibrated(engine: Engine[object], node: Node, file: str, stamp: tuple[int, int] | None) -> Engine[object]:
    """``engine`` with the overheads of ``file``, which ``stamp`` says has not changed since it was read.

    Raises RequestError for a file that holds no calibration, or one of another GPU, engine or major version of torch.
    """
    found = _read(file, stamp)
    asked = "a budget" if node.source == "budget" else node.gpus[0].id if node.gpus else "no GPU"
    if found.engine != engine.name:
        raise _other(found, f"of {found.engine}, not of {engine.name}", "leave --calibration out")
    if asked != found.gpu_id:
        raise _other(found, f"of {found.gpu_id}, not of {asked}", f"--gpu {found.gpu_id}, or leave --calibration out")
    if len(node.gpus) > 1:
        raise _other(found, f"of one GPU, not of {len(node.gpus)}", "leave --calibration out")
    if found.torch.partition(".")[0] != TORCH_MAJOR:
        raise _other(found, f"of torch {found.torch}, and torch {TORCH_MAJOR} is modeled", "calibrate again: kvplan verify")
    return _engine(engine.name, file, stamp)


@lru_cache(maxsize=16)
def _engine(name: str, file: str, stamp: tuple[int, int] | None) -> CalibratedEngine:
    """One object for one file: deployments are remembered by it."""
    return CalibratedEngine(find_engine(name), _read(file, stamp))


def _other(found: Calibration, what: str, hint: str) -> RequestError:
    return RequestError("other_calibration", f"--calibration {found.file}: {what}", hint=hint)


def _used(found: Calibration) -> Finding:
    driver = f", driver {found.driver}" if found.driver else ""
    return Finding(
        "KV400",
        "note",
        f"overheads as {found.file} has them, measured on {found.gpu_name} on {found.taken_at[:10]} (torch {found.torch}{driver})",
        "they hold for such a host, and the allocator's for loads like the measured one; leave --calibration out for general figures",
    )


@lru_cache(maxsize=16)
def _read(file: str, stamp: tuple[int, int] | None) -> Calibration:
    """Raises RequestError for anything but what ``kvplan verify --save-calibration`` writes."""
    data = _object(read_json(Path(file)).get(KEY), file)
    terms = _object(data.get("terms"), file)
    texts = {key: data.get(key) for key in ("engine", "gpu_id", "gpu_name", "torch", "taken_at")}
    transient = data.get("transient_bytes")
    if type(transient) is not int or transient < 1 or not all(isinstance(text, str) for text in texts.values()):
        raise _no_calibration(file)
    return Calibration(
        file=file,
        driver=str(data["driver"]) if data.get("driver") else None,
        sizes={term: _interval(_object(terms.get(term), file), file) for term in (*CONSTANT, SHARE)},
        transient_bytes=transient,
        **{key: str(text) for key, text in texts.items()},
    )


def _object(value: object, file: str) -> dict[str, object]:
    if not isinstance(value, dict):
        raise _no_calibration(file)
    return value


def _interval(data: dict[str, object], file: str) -> Interval:
    bounds = [value for key in ("low_bytes", "best_bytes", "high_bytes") if type(value := data.get(key)) is int and value >= 0]
    if len(bounds) != 3 or bounds != sorted(bounds):
        raise _no_calibration(file)
    return Interval(*bounds)


def _no_calibration(file: str) -> RequestError:
    return RequestError("bad_file", f"{file}: holds no calibration", hint="kvplan verify --save-calibration makes one")
