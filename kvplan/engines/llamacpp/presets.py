"""llama-server's presets: an INI file with a section for each model that a router can load.

Source: llama.cpp b11434 common/preset.cpp, docs/preset.md: keys are flags without dashes or variables; what the line says wins over
the section, and the section over ``[*]``.
"""

from collections.abc import Sequence

from kvplan.core.errors import RequestError, did_you_mean
from kvplan.engines.llamacpp.known import others, spellings, variables

_FLAG = "--models-preset"
_ALL = "*"
_NO_FLAGS = ("version", "load-on-startup", "stop-timeout")


def preset_file(argv: Sequence[str]) -> str | None:
    """The file that a command names, None where it names none."""
    return next((argv[i + 1] for i, word in enumerate(argv[:-1]) if word == _FLAG), None)


def with_preset(argv: Sequence[str], text: str) -> tuple[str, ...]:
    """The command for one of the preset's models: the one that --alias names, or the only one.

    Raises RequestError where it can't be told which, and for a file that is no preset.
    """
    at = list(argv).index(_FLAG)
    rest = [*argv[:at], *argv[at + 2 :]]
    sections = read(text)
    models = [name for name in sections if name != _ALL]
    asked = next((rest[i + 1] for i, word in enumerate(rest[:-1]) if word in ("-a", "--alias")), None)
    if asked is None and len(models) == 1:
        asked = models[0]
    if asked not in models:
        hint = did_you_mean(asked or "", models) or f"name one with --alias: {', '.join(models) or 'the file has none'}"
        raise RequestError("several_models", f"{_FLAG}: {len(models)} models; expected the name of one", hint=hint)
    program = next((i + 1 for i, word in enumerate(rest) if "llama-server" in word), len(rest))
    return (*rest[:program], *words({**sections.get(_ALL, {}), **sections[asked]}), *rest[program:])


def read(text: str) -> dict[str, dict[str, str]]:
    """Sections by name. Raises RequestError with the number of a line that is none."""
    sections: dict[str, dict[str, str]] = {}
    section: dict[str, str] = {}  # what stands before the first section is about the file
    for number, raw in enumerate(text.splitlines(), 1):
        line = raw.strip()
        key, equals, value = line.partition("=")
        if line.startswith("[") and line.endswith("]"):
            section = sections.setdefault(line[1:-1].strip(), {})
        elif equals:
            section[key.strip()] = value.strip()
        elif line and line[0] not in "#;":
            raise RequestError(
                "bad_file", f"preset: line {number}: expected a section or KEY = VALUE, found '{line}'", hint="ctx-size = 8192"
            )
    return sections


def words(section: dict[str, str]) -> tuple[str, ...]:
    """A section as flags; a switch that is off is its opposite."""
    found: list[str] = []
    for key, value in section.items():
        if key in _NO_FLAGS:
            continue
        named = variables().get(key)
        flag = (
            (named[0].spellings[-1] if named[1] else named[0].opposites[-1])
            if named
            else next((dashes + key for dashes in ("--", "-") if dashes + key in spellings() or dashes + key in others()), f"--{key}")
        )
        found += _said(flag, value)
    return tuple(found)


def _said(flag: str, value: str) -> tuple[str, ...]:
    known = spellings().get(flag)
    n_values = known[0].n_values if known else others()[flag].n_values if flag in others() else 1
    if n_values:
        return flag, value
    if value.lower() in ("false", "0", "off", "disabled"):
        return (known[0].opposites[-1],) if known and known[0].opposites else ()
    return (flag,)
