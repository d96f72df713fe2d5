"""The releases of vLLM, and what of a version's text counts."""

from functools import lru_cache

from kvplan.core import versions
from kvplan.core.versions import Release

_RELEASES = (
    "0.6: 0 1 2 3 4 5 6 / 0.7: 0 1 2 3 / 0.8: 0 1 2 3 4 5 / 0.9: 0 1 2 / 0.10: 0 1 2 / 0.11: 0 1 2 / 0.12: 0 / 0.13: 0 / 0.14: 0 1 / "
    "0.15: 0 1 / 0.16: 0 / 0.17: 0 1 / 0.18: 0 1 / 0.19: 0 1 / 0.20: 0 1 2 / 0.21: 0 / 0.22: 0 1 / 0.23: 0 / 0.24: 0 / 0.25: 0 1 / "
    "0.26: 0 / 0.27: 0 1 / 0.28: 0 / 0.29: 0 / 0.30: 0 / 0.31: 0 / 0.32: 0 / 0.33: 0"
)
VERSIONS = versions.releases(_RELEASES)
"""Releases from 0.6 on, oldest first."""


@lru_cache(maxsize=1024)
def release(version: str) -> Release:
    """``v0.20.2.post1`` as (0, 20, 2). Raises RequestError for text that begins with no number."""
    return versions.release(version.removeprefix("v"), engine="vllm", newest=VERSIONS[-1])
