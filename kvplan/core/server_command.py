"""A server's command line as the flags that its engine resolves."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

from kvplan.core.engine import Flag, Parsed
from kvplan.core.errors import RequestError
from kvplan.core.flag_words import Grammar, Read, canonical, read
from kvplan.core.ledger import Finding
from kvplan.core.server_line import Program, started

ENTRY = "entry"
"""The flag that says that there is a command; there is none where kvplan's own options are all that was said."""


class Speech(NamedTuple):
    """How an engine is spoken to. ``title`` is how people write its name; ``unmodeled`` are flags that bear on memory in a way that
    nothing follows, and what is done instead; ``variables`` are flags by the environment's variable that says the same; ``overrides`` is
    the flag that puts keys over the model's config."""

    title: str
    program: Program
    grammar: Callable[[], Grammar]
    unmodeled: Mapping[str, str]
    variables: Mapping[str, str]
    overrides: str | None = None


def parsed(argv: Sequence[str], env: Mapping[str, str], version: str, speech: Speech) -> Parsed:
    """Read a command. ``version`` is empty where nobody said one: then an image's tag does, else it is the newest.

    Raises RequestError for a line that starts no server, and for values that the engine's parser would refuse.
    """
    line, grammar = started(argv, speech.program), speech.grammar()
    chosen = version or line.version or grammar.newest
    found, around = read(line.words, grammar, chosen), {**env, **line.env}
    said = tuple(
        Flag(flag, canonical(grammar, flag, around[name]))
        for name, flag in speech.variables.items()
        if flag != "model" and around.get(name)
    )
    named = next((around[name] for name, flag in speech.variables.items() if flag == "model" and around.get(name)), None)
    return Parsed(
        engine=speech.program.engine,
        version=chosen,
        model=found.model or named,
        flags=(*(() if line.bare else (Flag(ENTRY, "serve"),)), *said, *found.flags),
        ignored=tuple(flag for flag in found.ignored if flag.name not in speech.unmodeled),
        unknown=tuple(flag for flag, _ in found.strange),
        findings=(*_strange(found, chosen, speech), *_unmodeled(found, speech)),
        overrides=_overrides(found, speech),
    )


def _overrides(found: Read, speech: Speech) -> str | None:
    """The last such flag's value. Raises RequestError for anything but a JSON object."""
    text = next((flag.value for flag in reversed(found.flags) if flag.name == speech.overrides), None)
    if text is None:
        return None
    try:
        given = json.loads(text)
    except (ValueError, RecursionError):
        given = None
    if not isinstance(given, dict):
        raise RequestError(
            "bad_setting", f"{speech.title}: --{speech.overrides} {text}", hint="write a JSON object, in quotes for the shell"
        )
    return json.dumps(given, sort_keys=True, separators=(",", ":")) if given else None


def words(flags: Iterator[tuple[str, object]], *, dash: str = "-") -> Iterator[str]:
    """Flags as they are typed; True is a switch, None is left out. ``dash`` parts the words of a name."""
    for name, value in flags:
        if value is None or value is False:
            continue
        yield f"--{name.replace('-', dash)}"
        if value is not True:
            yield str(value)


def unlike(*settings: tuple[str, object, object]) -> Iterator[tuple[str, object]]:
    """Flags and values of those whose value is not the usual one: name, value, usual."""
    yield from ((name, value) for name, value, usual in settings if value != usual)


def _strange(found: Read, version: str, speech: Speech) -> Iterator[Finding]:
    for flag, hint in found.strange:
        yield Finding("KV210", "warning", f"{speech.title} {version} doesn't know '{flag.name}': it would not start", hint)


def _unmodeled(found: Read, speech: Speech) -> Iterator[Finding]:
    for name in dict.fromkeys(flag.name for flag in found.ignored if flag.name in speech.unmodeled):
        yield Finding("KV211", "warning", f"--{name} bears on memory and is not followed: {speech.unmodeled[name]}")
