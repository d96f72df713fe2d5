"""Answers of other commands, read from their JSON, and records of runs."""

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple

from kvplan.core.errors import RequestError

if TYPE_CHECKING:
    from kvplan.verifier.run import Tier
    from kvplan.verifier.verification import Verification

Kind = Literal["estimate", "compare", "sweep", "recommend", "verify", "check", "report", "quality"]

_SIGNS: tuple[tuple[Kind, str], ...] = (
    ("report", "subjects"),
    ("compare", "sides"),
    ("sweep", "points"),
    ("recommend", "proposals"),
    ("check", "deployments"),
    ("verify", "tier"),
    ("quality", "caches"),
    ("estimate", "entries"),
)
"""The key by which an answer is known, in an order in which the first that is there decides."""
MOST_BYTES = 2**26  # a sweep of a hundred thousand points


class Result(NamedTuple):
    """What one command answered, of a record the run beside its estimate; ``sha256`` is that of its file."""

    file: str
    sha256: str
    kind: Kind
    answer: "Mapping[str, object] | Verification"


def read(name: str) -> Result | None:
    """The result in a file; None where ``name`` is no file of kvplan's JSON. Raises RequestError for one that can't be read."""
    path = Path(name)
    if path.suffix != ".json" or not path.is_file():
        return None
    try:
        if path.stat().st_size > MOST_BYTES:
            raise RequestError("bad_file", f"{name}: too large for a report", hint="fewer points")
        raw = path.read_bytes()
        found: object = json.loads(raw)
    except OSError as problem:
        raise RequestError("bad_file", f"{name}: {problem.strerror or problem}", hint="check the path and its permissions") from None
    except (ValueError, RecursionError):
        return None  # whatever it is, the loader of models says what is wrong with it
    if not isinstance(found, dict) or "schema_version" not in found:
        return None
    digest = hashlib.sha256(raw).hexdigest()
    if {"job", "outcome", "device"} <= found.keys():
        return Result(path.name, digest, "verify", _verified(name, found))
    return Result(path.name, digest, _kind(name, found), found) if "kvplan" in found else None


def _verified(name: str, found: dict[str, object]) -> "Verification":
    """The record of a run, reconciled with what is estimated of it now."""
    from kvplan.verifier.accuracy import estimate_of
    from kvplan.verifier.reconcile import reconcile
    from kvplan.verifier.record import from_json
    from kvplan.verifier.verification import Verification

    try:
        record = from_json({key: value for key, value in found.items() if key != "schema_version"})
    except (KeyError, TypeError, AttributeError) as problem:
        raise RequestError("bad_file", f"{name}: no record of a run: {problem}", hint="kvplan verify --record writes one") from None
    estimate = estimate_of(record)
    tiers: dict[str, Tier] = {"cuda": "cuda", "cpu": "cpu"}
    terms = reconcile(estimate, record) if record.outcome == "ran" else ()
    return Verification(tiers.get(record.device.kind, "trace"), estimate, record, terms, ())


def _kind(name: str, found: Mapping[str, object]) -> Kind:
    version = found["schema_version"]
    if version != 1 or isinstance(version, bool):
        raise RequestError("bad_file", f"{name}: schema_version {version!r:.40} is not 1", hint="make it again with this kvplan")
    kind = next((kind for kind, sign in _SIGNS if sign in found), None)
    if kind is None:
        raise RequestError(
            "bad_file", f"{name}: no answer that a report shows", hint="estimate, sweep, recommend, compare, verify, check or quality"
        )
    return kind
