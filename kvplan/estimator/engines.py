"""Which engine a request means, and what it says to it."""

import importlib
from functools import lru_cache

from kvplan import _discover
from kvplan.core.engine import Engine, Flag, Parsed, ReadsFile
from kvplan.core.errors import RequestError, did_you_mean
from kvplan.core.units import parse_count
from kvplan.estimator.options import Options

DEFAULT_ENGINE = "transformers"
ENGINES = "kvplan.engines"
_OF_ENGINES = ("dtype", "kv_dtype", "attn", "cache", "forward", "usage", "tp", "pp", "dp", "ep")
_COUNTS = ("tp", "pp", "dp", "ep")


def asked(options: Options) -> tuple[Engine[object], str, Parsed]:
    """The engine, its version, and its settings as the command and the options name them; options win.

    Raises RequestError for an unknown engine, a command that it can't read, or an option that means nothing to it.
    """
    named = options.engine if options.engine is not None else _started(options.command) if options.command else DEFAULT_ENGINE
    name, at, version = named.partition("@")
    engine, version = find_engine(name.lower()), version.removeprefix("v")
    if at and not version:
        raise RequestError(
            "unknown_version", f"engine '{named}': expected a version after the @", hint=f"write it as {name}@{engine.versions[-1]}"
        )
    parsed = engine.parse(_with_file(options.command, engine) or (engine.name,), {}, version)
    return engine, version or parsed.version or engine.versions[-1], parsed._replace(flags=(*parsed.flags, *_flags(options, engine)))


@lru_cache(maxsize=16)
def find_engine(name: str) -> Engine[object]:
    """The engine that people call ``name``. Raises RequestError with near matches."""
    module = _discover.claimant(ENGINES, "NAMES", name)
    if module is None:
        known = _discover.claimants(ENGINES, "NAMES")
        raise RequestError(
            "unknown_engine", f"unknown engine '{name}'", hint=did_you_mean(name, known) or f"so far only {', '.join(known)} is modelled"
        )
    engine: Engine[object] = importlib.import_module(f"{module.__name__}.engine").ENGINE
    return engine


def _started(command: tuple[str, ...]) -> str:
    """The engine that a command line starts: its first word, or the first word that mentions one behind variables and wrappers."""
    if _discover.claimant(ENGINES, "NAMES", command[0].lower().partition("@")[0]) is not None:
        return command[0]
    mentions = {mention: module.NAMES[0] for module in _discover.modules(ENGINES).values() for mention in getattr(module, "MENTIONS", ())}
    return next((name for word in command for mention, name in mentions.items() if mention in word), command[0])


def _with_file(command: tuple[str, ...], engine: Engine[object]) -> tuple[str, ...]:
    """The command with what its settings file says in it. Raises RequestError for a file that can't be read."""
    name = engine.config_file(command) if isinstance(engine, ReadsFile) else None
    if name is None or not isinstance(engine, ReadsFile):
        return command
    from pathlib import Path

    from kvplan.specs.files import read_yaml

    return engine.with_config(command, read_yaml(Path(name)))


def _flags(options: Options, engine: Engine[object]) -> tuple[Flag, ...]:
    """The options as the engine's own settings. Raises RequestError for one that means nothing to it."""
    said = {option: value for option, value in options._asdict().items() if option in _OF_ENGINES and value is not None}
    stray = next((option for option in said if option not in engine.options), None)
    if stray is not None:
        flag = f"--{stray.replace('_', '-')}"
        raise RequestError("unknown_option", f"{flag}: {engine.name} has nothing that it would change", hint="leave it out")
    words = {option: str(parse_count(value, option=f"--{option}")) if option in _COUNTS else value for option, value in said.items()}
    return tuple(Flag(engine.options[option], value) for option, value in words.items())
