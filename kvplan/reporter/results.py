"""Answers of other commands, read from their JSON."""

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Literal, NamedTuple

from kvplan.core.errors import RequestError

Kind = Literal["estimate", "compare", "sweep", "recommend", "verify", "check", "report"]

_SIGNS: tuple[tuple[Kind, str], ...] = (
    ("report", "subjects"),
    ("compare", "sides"),
    ("sweep", "points"),
    ("recommend", "proposals"),
    ("check", "deployments"),
    ("verify", "tier"),
    ("estimate", "entries"),
)
"""The key by which an answer is known, in an order in which the first that is there decides."""
MOST_BYTES = 2**26  # a sweep of a hundred thousand points


class Result(NamedTuple):
    """What one command answered; ``sha256`` is that of its file."""

    file: str
    sha256: str
    kind: Kind
    answer: Mapping[str, object]


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
    if not isinstance(found, dict) or "kvplan" not in found or "schema_version" not in found:
        return None
    return Result(path.name, hashlib.sha256(raw).hexdigest(), _kind(name, found), found)


def _kind(name: str, found: Mapping[str, object]) -> Kind:
    if found["schema_version"] != 1:
        raise RequestError("bad_file", f"{name}: schema_version {found['schema_version']} is not 1", hint="make it again with this kvplan")
    kind = next((kind for kind, sign in _SIGNS if sign in found), None)
    if kind is None:
        raise RequestError(
            "bad_file", f"{name}: no answer that a report shows", hint="estimate, sweep, recommend, compare, verify or check"
        )
    return kind
