"""What differs between versions of Transformers; a new version is a new ``Rules``."""

from functools import cache
from typing import NamedTuple

from kvplan.core.errors import RequestError


class Rules(NamedTuple):
    """Behavior from version ``since`` on.

    ``fp8_cache``: QuantizedCache has an fp8 backend. ``packs_queries``: in decode under a mask, query heads are grouped
    by KV head instead of repeating keys and values. ``keeps_router``: the routers of all families that compute routing in
    float32 are kept in it, too.
    """

    since: str
    fp8_cache: bool
    packs_queries: bool
    keeps_router: bool
    source: str


_FIRST = Rules(
    since="5.17.0",
    fp8_cache=False,
    packs_queries=False,
    keeps_router=False,
    source="transformers 5.17.0 cache_utils.py, integrations/sdpa_attention.py, integrations/moe.py",
)
_FP8 = _FIRST._replace(since="5.21.0", fp8_cache=True, source="transformers 5.21.0 cache_utils.py, Fp8QuantizedLayer")
_PACKED = _FP8._replace(since="5.23.0", packs_queries=True, source="transformers 5.23.0 integrations/sdpa_attention.py, pack_gqa")
_ROUTER = _PACKED._replace(since="5.24.0", keeps_router=True, source="transformers 5.24.0 models/deepseek_v3, _keep_in_fp32_modules_strict")

RULES = (_FIRST, _FP8, _PACKED, _ROUTER)
VERSIONS = ("5.17.0", "5.18.0", "5.19.0", "5.20.0", "5.21.0", "5.22.0", "5.23.0", "5.24.0")


@cache
def rules_for(version: str) -> tuple[Rules, bool]:
    """The rules of ``version``, and whether it is newer than every modeled one (then the newest rules are used).

    Raises RequestError for a version older than the table, or for text that is no version.
    """
    wanted = _parts(version)
    if wanted < _parts(RULES[0].since):
        raise RequestError(
            "unknown_version",
            f"transformers {version} is older than the versions that are modeled ({VERSIONS[0]} to {VERSIONS[-1]})",
            hint=f"use --engine transformers@{VERSIONS[0]} or newer",
        )
    rules = next(rules for rules in reversed(RULES) if _parts(rules.since) <= wanted)
    return rules, wanted[:2] > _parts(VERSIONS[-1])[:2]


def _parts(version: str) -> tuple[int, ...]:
    """``5.24.0rc1`` as (5, 24, 0): a pre-release behaves as what it precedes."""
    numbers = []
    for part in version.split(".")[:3]:
        digits = part[: next((i for i, char in enumerate(part) if not char.isdigit()), len(part))]
        if not digits:
            break
        numbers.append(int(digits))
    if not numbers:
        raise RequestError(
            "unknown_version", f"transformers: '{version}' is not a version", hint=f"write it as transformers@{VERSIONS[-1]}"
        )
    return (*numbers, 0, 0)[:3]
