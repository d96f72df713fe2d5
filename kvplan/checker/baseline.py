"""A baseline: the findings that a repository has already, so that only new ones count."""

import hashlib
import json
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from kvplan.checker.case import Found
from kvplan.checker.report import Suppressed
from kvplan.core.errors import RequestError

_VERSION = 1


def fingerprint(found: Found) -> str:
    """A digest that survives edits around a finding: rule, file and server, not the line or the numbers in the message."""
    server = found.server.name if found.server else None
    said = "\0".join((found.rule, found.file, server or ""))
    return hashlib.sha256(said.encode("utf-8", "surrogatepass")).hexdigest()[:32]


def text(found: Sequence[Found]) -> str:
    """The file that ``--write-baseline`` writes."""
    rows = [{"rule": one.rule, "file": one.file, "fingerprint": fingerprint(one)} for one in found]
    return json.dumps({"made_by": "kvplan", "version": _VERSION, "findings": rows}, indent=1) + "\n"


def apply(found: Sequence[Found], path: Path) -> tuple[tuple[Found, ...], tuple[Suppressed, ...]]:
    """What is new, and what the baseline knows; as many of a kind as it has. Raises RequestError for a file that is no baseline."""
    left = Counter(_read(path))
    kept, known = [], []
    for one in found:
        mark = fingerprint(one)
        if left[mark] > 0:
            left[mark] -= 1
            known.append(Suppressed(one, f"known to {path.name}", in_source=False))
        else:
            kept.append(one)
    return tuple(kept), tuple(known)


def _read(path: Path) -> list[str]:
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        if content["version"] != _VERSION:
            raise ValueError(f"version {content['version']}")
        return [str(row["fingerprint"]) for row in content["findings"]]
    except OSError as problem:
        raise RequestError("unreadable_file", f"{path}: {problem.strerror}", hint="--write-baseline FILE makes one") from None
    except (ValueError, KeyError, TypeError) as problem:
        raise RequestError("bad_baseline", f"{path}: not a baseline of kvplan: {problem}", hint="--write-baseline FILE makes one") from None
