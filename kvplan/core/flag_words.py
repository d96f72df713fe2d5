"""An engine's command line read by a table of its flags."""

import re
from collections.abc import Mapping, Sequence
from typing import Literal, NamedTuple

from kvplan.core.engine import Flag
from kvplan.core.errors import RequestError, did_you_mean
from kvplan.core.versions import release

Arity = Literal["one", "none", "many", "optional"]
Kind = Literal["count", "whole", "human", "share", "switch", "word"]
"""``count``: a whole number from 1. ``whole``: from 0. ``human``: any whole number, also 32k. ``share``: over 0, at most 1."""

_ARITY: dict[str, Arity] = {"!": "none", "*": "many", "?": "optional"}
_SUFFIXES = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "K": 2**10, "M": 2**20, "G": 2**30}
_TRUE, _FALSE = ("true", "1", "yes", "on"), ("false", "0", "no", "off")


class Known(NamedTuple):
    """A flag, the first version that knows it and the first that doesn't any more (None while it is there)."""

    name: str
    arity: Arity
    since: str
    until: str | None


class Grammar(NamedTuple):
    """How an engine spells what. ``known`` are all its flags by name, without dashes; ``kinds`` those that bear on memory; ``same`` are
    other spellings, by the name that they mean. ``cuts``: flags may be cut off where that is clear. ``positional``: the first bare word
    is the model. ``newest`` is its newest version."""

    engine: str
    known: Mapping[str, Known]
    kinds: Mapping[str, Kind]
    same: Mapping[str, str]
    newest: str
    cuts: bool = False
    positional: bool = False


class Read(NamedTuple):
    """What the words say; ``strange`` are those that this version doesn't know, each with what may be meant."""

    model: str | None
    flags: tuple[Flag, ...]
    ignored: tuple[Flag, ...]
    strange: tuple[tuple[Flag, str], ...]


def table(text: str) -> dict[str, Known]:
    """Flags of a text: ``since-until:`` and names; ! takes no value, * one or more, ? one or none."""
    found, since, until = {}, "", ""
    for word in text.split():
        if word.endswith(":"):
            since, _, until = word[:-1].partition("-")
        else:
            name = word.rstrip("!*?")
            found[name] = Known(name, _ARITY.get(word[-1], "one"), since, until or None)
    return found


def read(words: Sequence[str], grammar: Grammar, version: str) -> Read:
    """Flags in order, their values in one spelling. Raises RequestError for a value that is missing or of the wrong kind."""
    rest, positional = list(words), list[str]()
    flags, ignored, strange = list[Flag](), list[Flag](), list[tuple[Flag, str]]()
    while rest:
        word = rest.pop(0)
        if not word.startswith("-") or _is_number(word):
            positional.append(word)
            continue
        said, equals, inline = word.partition("=")
        found = _meant(said.lstrip("-").replace("_", "-"), grammar, version)
        arity = "optional" if found is None else found.arity
        values = [inline] if equals else _values(said, rest, arity, grammar)
        text = " ".join(values)
        if found is None or not _knows(found, grammar, version):
            strange.append((Flag(said, text), _hint(said, found, grammar)))
        elif found.name in grammar.kinds:
            flags.append(Flag(found.name, canonical(grammar, found.name, text if values else "true")))
        else:
            ignored.append(Flag(found.name, text))
    most = 1 if grammar.positional else 0
    strange += [(Flag(word, ""), "a word of no flag") for word in positional[most:]]
    named = next((flag.value for flag in reversed(ignored) if flag.name == "model"), None)
    left = tuple(flag for flag in ignored if flag.name != "model")
    return Read((positional[0] if positional and grammar.positional else None) or named, tuple(flags), left, tuple(strange))


def canonical(grammar: Grammar, name: str, text: str) -> str:
    """``text`` in one spelling. Raises RequestError where the engine's parser would not take it."""
    kind = grammar.kinds[name]
    plain = text.strip()
    if kind == "word":
        return plain
    if kind == "switch":
        if plain.lower() not in (*_TRUE, *_FALSE):
            raise _wrong(grammar, name, f"expected true or false, found '{text}'")
        return "true" if plain.lower() in _TRUE else "false"
    if kind == "share":
        if not re.fullmatch(r"\d{0,3}\.?\d{1,18}", plain) or not 0 < float(plain) <= 1:
            raise _wrong(grammar, name, f"expected a share over 0, up to 1, found '{text}'")
        return repr(float(plain))
    return str(_whole(grammar, name, plain))


def _whole(grammar: Grammar, name: str, text: str) -> int:
    kind = grammar.kinds[name]
    found = re.fullmatch(r"(-?\d{1,18})([kKmMgG]?)", text)
    least = {"count": 1, "whole": 0}.get(kind, -1)
    if found is None or (found[2] and kind != "human") or int(found[1]) < least:
        raise _wrong(grammar, name, f"expected a whole number, found '{text}'")
    return int(found[1]) * _SUFFIXES[found[2]]


def knows(name: str, grammar: Grammar, version: str) -> bool:
    """Whether that version takes the flag called so."""
    return _knows(grammar.known[name], grammar, version)


def _wrong(grammar: Grammar, name: str, why: str) -> RequestError:
    return RequestError("bad_setting", f"{grammar.engine}: --{name}: {why}")


def _meant(name: str, grammar: Grammar, version: str) -> Known | None:
    """The flag called so, or the only one here that begins so."""
    full = grammar.same.get(name, name)
    if full in grammar.known or not grammar.cuts:
        return grammar.known.get(full)
    spelled = {**{known: known for known in grammar.known}, **grammar.same}
    begun = {
        grammar.known[means] for said, means in spelled.items() if said.startswith(name) and _knows(grammar.known[means], grammar, version)
    }
    return begun.pop() if len(begun) == 1 else None


def _knows(flag: Known, grammar: Grammar, version: str) -> bool:
    """Whether that version takes the flag."""
    here, since, until = (
        release(text, engine=grammar.engine, newest=grammar.newest) for text in (version, flag.since, flag.until or grammar.newest)
    )
    return since <= here and (flag.until is None or here < until)


def _hint(said: str, found: Known | None, grammar: Grammar) -> str:
    if found is None:
        return did_you_mean(said.lstrip("-").replace("_", "-"), grammar.known)
    return f"{grammar.engine} takes it from {found.since}" + ("" if found.until is None else f" to before {found.until}")


def _values(said: str, rest: list[str], arity: Arity, grammar: Grammar) -> list[str]:
    if arity == "none":
        return []
    values: list[str] = []
    while rest and (arity == "many" or not values) and (not rest[0].startswith("-") or _is_number(rest[0])):
        values.append(rest.pop(0))
    if not values and arity != "optional":
        raise RequestError("bad_command", f"{grammar.engine}: argument {said}: expected a value")
    return values


def _is_number(word: str) -> bool:
    """A negative number is no flag, as in argparse."""
    return word[1:].replace(".", "", 1).isdecimal()
