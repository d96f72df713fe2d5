"""Which engine a request means, and what it says to it."""

from kvplan import _discover
from kvplan.core.engine import Engine, Flag, Parsed, ReadsFile, ReadsText
from kvplan.core.errors import RequestError
from kvplan.core.units import parse_count
from kvplan.estimator import precision
from kvplan.estimator.options import Options
from kvplan.estimator.precision import Precision
from kvplan.estimator.registry import ENGINES, find_engine

DEFAULT_ENGINE, GGUF_ENGINE = "transformers", "llama.cpp"
_OF_ENGINES = ("dtype", "kv_dtype", "attn", "cache", "forward", "usage", "device_map", "max_memory", "tp", "pp", "dp", "ep")
_COUNTS = ("tp", "pp", "dp", "ep")


def asked(options: Options, *, default: str = DEFAULT_ENGINE) -> tuple[Engine[object], str, Parsed, Precision]:
    """The engine, its version, its settings as the command and the options name them (options win), and what --dtype means to it.

    Raises RequestError for an unknown engine, a command that it can't read, or an option that means nothing to it.
    """
    named = options.engine if options.engine is not None else _started(options.command) if options.command else default
    name, at, version = named.partition("@")
    engine, version = find_engine(name.lower()), version.removeprefix("v")
    if at and not version:
        raise RequestError(
            "unknown_version", f"engine '{named}': expected a version after the @", hint=f"write it as {name}@{engine.versions[-1]}"
        )
    parsed = engine.parse(_with_file(options.command, engine) or (engine.name,), {}, version)
    meant = precision.read(options.dtype, engine.name)
    flags = _flags(options if options.dtype == meant.load_as else options._replace(dtype=meant.load_as), engine)
    return engine, parsed.version or version or engine.versions[-1], parsed._replace(flags=(*parsed.flags, *flags)), meant


def _started(command: tuple[str, ...]) -> str:
    """The engine that a command line starts: its first word, or the first word that mentions one behind variables and wrappers."""
    if _discover.claimant(ENGINES, "NAMES", command[0].lower().partition("@")[0]) is not None:
        return command[0]
    mentions = {
        mention: mention if mention in module.NAMES else module.NAMES[0]
        for module in _discover.modules(ENGINES).values()
        for mention in getattr(module, "MENTIONS", ())
    }
    return next((name for word in command for mention, name in mentions.items() if mention in word), command[0])


def _with_file(command: tuple[str, ...], engine: Engine[object]) -> tuple[str, ...]:
    """The command with what its settings file says in it. Raises RequestError for a file that can't be read."""
    if command and isinstance(engine, ReadsText) and (name := engine.text_file(command)) is not None:
        from pathlib import Path

        from kvplan.specs.files import read_text

        return engine.with_text(command, read_text(Path(name)))
    if command and isinstance(engine, ReadsFile) and (name := engine.config_file(command)) is not None:
        from pathlib import Path

        from kvplan.specs.files import read_yaml

        return engine.with_config(command, read_yaml(Path(name)))
    return command


def _flags(options: Options, engine: Engine[object]) -> tuple[Flag, ...]:
    """The options as the engine's own settings. Raises RequestError for one that means nothing to it."""
    said = {option: value for option in _OF_ENGINES if (value := getattr(options, option)) is not None}
    stray = next((option for option in said if option not in engine.options), None)
    if stray is not None:
        flag = f"--{stray.replace('_', '-')}"
        raise RequestError("unknown_option", f"{flag}: {engine.name} has nothing that it would change", hint="leave it out")
    words = {option: str(parse_count(value, option=f"--{option}")) if option in _COUNTS else value for option, value in said.items()}
    return tuple(Flag(engine.options[option], value) for option, value in words.items())
