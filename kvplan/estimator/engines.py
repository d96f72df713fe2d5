"""Engines by the names that people call them."""

import importlib
from functools import lru_cache

from kvplan import _discover
from kvplan.core.engine import Engine
from kvplan.core.errors import RequestError, did_you_mean

ENGINES = "kvplan.engines"


@lru_cache(maxsize=16)
def find_engine(name: str) -> Engine[object]:
    """The engine that people call ``name``. Raises RequestError with near matches."""
    module = _discover.claimant(ENGINES, "NAMES", name)
    if module is None:
        known = known_engines()
        raise RequestError(
            "unknown_engine", f"unknown engine '{name}'", hint=did_you_mean(name, known) or f"so far only {', '.join(known)} is modelled"
        )
    engine: Engine[object] = importlib.import_module(f"{module.__name__}.engine").ENGINE
    return engine


def known_engines() -> list[str]:
    """Every name of every engine."""
    return list(_discover.claimants(ENGINES, "NAMES"))
