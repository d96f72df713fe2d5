"""Versions of engines that are numbered ``major.minor.patch``: what of their text counts, and whose rules hold for one."""

from collections.abc import Sequence
from typing import Protocol, TypeVar

from kvplan.core.errors import RequestError
from kvplan.core.ledger import Finding

Release = tuple[int, int, int]


class Dated(Protocol):
    """Rules that hold from one version on."""

    @property
    def since(self) -> str:
        """The first version that they hold for."""
        ...


R = TypeVar("R", bound=Dated)


def release(version: str, *, engine: str, newest: str) -> Release:
    """``5.24.0rc1`` and ``0.20.2.post1`` as (5, 24, 0) and (0, 20, 2): a pre-release behaves as what it precedes.

    Raises RequestError for text that begins with no number; it names ``engine`` and its ``newest`` version.
    """
    numbers = []
    for part in version.split(".")[:3]:
        digits = part[: next((i for i, char in enumerate(part) if not char.isdecimal()), len(part))]
        if not digits:
            break
        numbers.append(int(digits))
    if not numbers:
        raise RequestError("unknown_version", f"{engine}: '{version}' is not a version", hint=f"write it as {engine}@{newest}")
    major, minor, patch = (*numbers, 0, 0)[:3]
    return major, minor, patch


def releases(lines: str) -> tuple[str, ...]:
    """``0.4: 3 4 / 0.5: 1`` as 0.4.3, 0.4.4 and 0.5.1: lines of releases and their patches."""
    parts = (line.partition(":") for line in lines.split("/"))
    return tuple(f"{line.strip()}.{patch}" for line, _, patches in parts for patch in patches.split())


def rules_at(version: str, rules: Sequence[R], *, engine: str, known: Sequence[str]) -> tuple[R, bool]:
    """The rules of ``version`` among ``rules``, and whether it is newer than every one in ``known`` (then the newest are used).

    Both are sorted, oldest first. Raises RequestError for a version older than the rules, or for text that is no version.
    """

    def number(text: str) -> Release:
        return release(text, engine=engine, newest=known[-1])

    wanted = number(version)
    if wanted < number(rules[0].since):
        raise RequestError(
            "unknown_version",
            f"{engine} {version} is older than the versions that are modeled ({known[0]} to {known[-1]})",
            hint=f"use --engine {engine}@{known[0]} or newer",
        )
    found = next(held for held in reversed(rules) if number(held.since) <= wanted)
    return found, wanted[:2] > number(known[-1])[:2]


def newer(title: str, version: str, newest: str) -> Finding:
    """Says that rules of an older version are used for this one."""
    message = f"{title} {version} is newer than the versions that are modeled: the rules of {newest} are used"
    return Finding("KV320", "warning", message, "bounds are wider")
