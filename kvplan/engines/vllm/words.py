"""vLLM's own words, read as its argument parser reads them."""

import json
from collections.abc import Sequence
from typing import NamedTuple

from kvplan.core.engine import Flag
from kvplan.core.errors import RequestError, did_you_mean
from kvplan.engines.vllm.flags import KINDS
from kvplan.engines.vllm.known import Known, known_flags
from kvplan.engines.vllm.spelling import Meaning, knows, meaning
from kvplan.engines.vllm.values import canonical, human_int

WHAT_IF = "kv-cache-memory-bytes"
"""A pool of a given size can be asked for in any version: what would it hold?"""


class Read(NamedTuple):
    """What the words say; ``strange`` are those that this version doesn't know, each with what may be meant."""

    model: str | None
    flags: tuple[Flag, ...]
    ignored: tuple[Flag, ...]
    strange: tuple[tuple[Flag, str], ...]


def read(words: Sequence[str], version: str) -> Read:
    """Flags in order, abbreviations and other spellings resolved, dotted ones as the JSON that they make.

    Raises RequestError for what the parser would refuse whatever the version: a value missing or of the wrong kind, an
    abbreviation of several flags.
    """
    reader = _Reader(version)
    rest = list(words)
    while rest:
        reader.take(rest)
    return reader.result()


class _Reader:
    def __init__(self, version: str) -> None:
        self._version = version
        self._positional: list[str] = []
        self._said: list[Flag] = []
        self._strange: list[tuple[Flag, str]] = []
        self._dotted: dict[str, dict[str, object]] = {}

    def take(self, rest: list[str]) -> None:
        """Consume one flag with its values, or one word."""
        word = rest.pop(0)
        if word == "--":
            self._positional += rest
            rest.clear()
        elif word.startswith("-O") and not word.startswith("--"):
            self._optimization(word, rest)
        elif word.startswith("-") and not _is_value(word):
            self._flag(word, rest)
        else:
            self._positional.append(word)

    def result(self) -> Read:
        """All that was said; dotted flags stand last, as vLLM appends them."""
        dotted = [Flag(name, json.dumps(value)) for name, value in self._dotted.items()]
        flags, ignored = [], []
        for flag in (*self._said, *dotted):
            kind = KINDS.get(flag.name)
            if kind is None:
                ignored.append(flag)
            elif value := canonical(flag.name, kind, flag.value):
                flags.append(Flag(flag.name, value))
        more = [(Flag(word, ""), "vLLM takes one model and no other words") for word in self._positional[1:]]
        return Read(self._positional[0] if self._positional else None, tuple(flags), tuple(ignored), (*self._strange, *more))

    def _flag(self, word: str, rest: list[str]) -> None:
        said, equals, value = word.partition("=")
        _, dot, path = said.partition(".")
        inline = value if equals else None
        meant = meaning(said[: len(said) - len(dot + path)], self._version)
        if meant is None or not knows(meant.flag, self._version):
            self._foreign(said, meant, inline, rest)
        elif dot:
            self._nest(meant.flag.name, path, inline if inline is not None else _next(said, rest))
        elif meant.flag.arity == "none":
            self._switch(meant, inline if inline is not None else _truth(rest))
        else:
            self._said.append(Flag(meant.flag.name, self._value(meant.flag, said, inline, rest)))

    def _foreign(self, said: str, meant: Meaning | None, inline: str | None, rest: list[str]) -> None:
        """A flag that this version doesn't take, with the values that seem to be its; the size of the pool is followed all the same."""
        arity = "optional" if meant is None else meant.flag.arity
        most = {"none": 0, "many": None}.get(arity, 1)
        values = [inline] if inline is not None else _values(rest, most=most)
        if meant is None:
            hint = did_you_mean(said.lstrip("-").partition(".")[0].replace("_", "-"), known_flags())
        else:
            flag = meant.flag
            hint = (
                f"vLLM {flag.since} and later take it" if flag.until is None else f"vLLM takes it from {flag.since} to before {flag.until}"
            )
            if flag.name == WHAT_IF:
                self._said.append(Flag(flag.name, " ".join(values)))
        self._strange.append((Flag(said, " ".join(values)), hint))

    def _value(self, found: Known, said: str, inline: str | None, rest: list[str]) -> str:
        if inline is not None:
            return inline
        if found.arity == "one":
            return _next(said, rest)
        values = _values(rest, most=1 if found.arity == "optional" else None)
        if not values and found.arity == "many":
            raise RequestError("bad_command", f"vllm: argument {said}: expected at least one argument")
        return " ".join(values)

    def _switch(self, meant: Meaning, value: str | None) -> None:
        on = value is None or canonical(meant.flag.name, "switch", value) == "true"
        self._said.append(Flag(meant.flag.name, "true" if on == meant.positive else "false"))

    def _optimization(self, word: str, rest: list[str]) -> None:
        """-O3, -O 3 and -O=3 are levels; -O{…} and -O.x=… were the compilation's config. Source: utils/argparse_utils.py."""
        path, equals, inline = word[2:].removeprefix(".").partition("=")
        if word.startswith("-O."):
            self._nest("compilation-config", path, inline if equals else _next(word, rest))
            return
        value = word[2:].removeprefix("=") or _next("-O", rest)
        self._said.append(Flag("optimization-level" if value.isdecimal() else "compilation-config", value))

    def _nest(self, name: str, path: str, text: str) -> None:
        """--name.a.b value is {"a": {"b": value}}; a + at its end makes a list of what commas part."""
        keys = path.removesuffix("+").split(".")
        value: object = text.split(",") if path.endswith("+") else _json_or_text(text)
        place = self._dotted.setdefault(name, {})
        for key in keys[:-1]:
            inner = place.setdefault(key, {})
            place = inner if isinstance(inner, dict) else place
        held = place.get(keys[-1])
        place[keys[-1]] = [*held, *value] if isinstance(held, list) and isinstance(value, list) else value


def _json_or_text(text: str) -> object:
    try:
        return json.loads(text)
    except ValueError:
        pass
    try:
        return human_int("", text)
    except RequestError:
        return text


def _is_value(word: str) -> bool:
    """A negative number is no flag, as in argparse."""
    return word == "-" or word[1:].replace(".", "", 1).isdecimal()


def _next(said: str, rest: list[str]) -> str:
    if not rest or (rest[0].startswith("-") and not _is_value(rest[0]) and " " not in rest[0]):
        raise RequestError("bad_command", f"vllm: argument {said}: expected one argument")
    return rest.pop(0)


def _values(rest: list[str], *, most: int | None) -> list[str]:
    values: list[str] = []
    while rest and (most is None or len(values) < most) and (not rest[0].startswith("-") or _is_value(rest[0])):
        values.append(rest.pop(0))
    return values


def _truth(rest: list[str]) -> str | None:
    """True or False after a switch: before 0.9 some took it, and people still write it."""
    return rest.pop(0) if rest and rest[0].lower() in ("true", "false") else None
