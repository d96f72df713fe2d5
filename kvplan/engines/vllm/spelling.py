"""How one flag can be written: short, with underscores, cut off, or as its opposite."""

from functools import cache
from typing import NamedTuple

from kvplan.core.errors import RequestError
from kvplan.engines.vllm.flags import ALSO, SHORT
from kvplan.engines.vllm.known import Known, known_flags
from kvplan.engines.vllm.versions import release

_BOTH_WAYS = "0.32"  # vllm 0.33.0 pairs --enable-x with --disable-x (EnableDisableAction), 0.31.0 doesn't
_EITHER_WAY = (("enable-", "disable-"), ("disable-", "enable-"))


class Meaning(NamedTuple):
    """A flag, and whether it is said or its opposite."""

    flag: Known
    positive: bool = True


def meaning(said: str, version: str) -> Meaning | None:
    """What ``said`` (a flag without its value) means, also where only another version knows it; None for no flag at all.

    Raises RequestError for an abbreviation of several flags. Source: Python 3.12 argparse, _get_option_tuples.
    """
    if not said.startswith("--"):
        flag = known_flags().get(SHORT.get(said[1:], ""))
        return None if flag is None else Meaning(flag)
    name = said[2:].replace("_", "-")
    here = _spellings(version)
    if name in here or name in _spellings(None):
        return here.get(name) or _spellings(None)[name]
    begun = {full: meant for full, meant in here.items() if full.startswith(name)}
    if len(set(begun.values())) > 1:
        could = ", ".join(f"--{full}" for full in sorted(begun))
        raise RequestError("bad_command", f"vllm: ambiguous option: {said} could match {could}", hint="write it in full")
    return next(iter(begun.values()), None)


def knows(flag: Known, version: str) -> bool:
    """Whether that version takes the flag."""
    return release(flag.since) <= release(version) and (flag.until is None or release(version) < release(flag.until))


@cache
def _spellings(version: str | None) -> dict[str, Meaning]:
    """Every long spelling that ``version`` takes, or that any does."""
    flags = [flag for flag in known_flags().values() if version is None or knows(flag, version)]
    found = {flag.name: Meaning(flag) for flag in flags}
    switches = [flag for flag in flags if flag.arity == "none"]
    if version is not None and release(version) >= release(_BOTH_WAYS):
        for flag in switches:
            for said, opposite in _EITHER_WAY:
                if flag.name.startswith(said):
                    found.setdefault(opposite + flag.name.removeprefix(said), Meaning(flag, positive=False))
    found.update({f"no-{flag.name}": Meaning(flag, positive=False) for flag in switches})
    return found | {other: found[name] for other, name in ALSO.items() if name in found}
