"""What differs between versions of Transformers; a new version is a new ``Rules``."""

from functools import cache
from typing import NamedTuple

from kvplan.core.versions import rules_at


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
    return rules_at(version, RULES, engine="transformers", known=VERSIONS)
