"""Engines by the names that people call them."""

import importlib
from functools import lru_cache

from kvplan import _discover
from kvplan.core.engine import Engine
from kvplan.core.errors import RequestError, UnavailableError, did_you_mean
from kvplan.core.model import ModelSpec

ENGINES = "kvplan.engines"


@lru_cache(maxsize=16)
def find_engine(name: str) -> Engine[object]:
    """The engine that people call ``name``. Raises RequestError with near matches."""
    module = _discover.claimant(ENGINES, "NAMES", name)
    if module is None:
        known = known_engines()
        raise RequestError(
            "unknown_engine",
            f"unknown engine '{name}'",
            hint=did_you_mean(name, known) or f"so far only {', '.join(_main_names())} is modeled",
        )
    front = getattr(module, "FRONTS", {}).get(name, "engine")  # another program around the same engine
    engine: Engine[object] = importlib.import_module(f"{module.__name__}.{front}").ENGINE
    return engine


def known_engines() -> list[str]:
    """Every name of every engine."""
    return list(_discover.claimants(ENGINES, "NAMES"))


def engines() -> list[tuple[Engine[object], tuple[str, ...]]]:
    """Every engine with the names that people call it by, the fronts around one apart."""
    modules = _discover.modules(ENGINES).values()
    fronts = {name for module in modules for name in getattr(module, "FRONTS", {})}
    names = [tuple(name for name in module.NAMES if name not in fronts) for module in modules]
    return [(find_engine(called[0]), called) for called in (*names, *((name,) for name in sorted(fronts)))]


def _main_names() -> list[str]:
    """The first name of each engine, and of the fronts around it."""
    return sorted(called[0] for _, called in engines())


def reader_of(form: str) -> str:
    """Who runs files of the format ``form`` as they lie, in words."""
    return f"--engine {next(called[0] for engine, called in engines() if form in engine.formats)} runs it as it lies"


def check_reads(engine: Engine[object], model: ModelSpec) -> None:
    """Raises UnavailableError for a model in a file of a format that ``engine`` does not run as it lies."""
    found = model.checkpoint.format if model.checkpoint else "safetensors"
    if found != "gguf" or found in engine.formats:
        return
    raise UnavailableError(
        "not_modeled",
        f"{model.id}: a GGUF file, which {engine.name} unpacks to 16 bits or more while it loads it",
        hint=f"{reader_of(found)}; `kvplan models {model.id}` shows its weights and layers; or name the model that it was made from",
    )
