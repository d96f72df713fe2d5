"""What an engine's flags mean, as a table; and which settings of a command can be read at all."""

import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from kvplan.checker.server import Word
from kvplan.checker.variables import left_in

FIELDS = ("model", "ctx_tokens", "concurrency", "tp", "pp", "dp", "kv_dtype", "utilization")
_NUMBER = re.compile(r"(\d{1,15})(?:\.(\d{1,6}))?([kKmM]?)")
_FACTORS = {"": 1, "k": 10**3, "m": 10**6, "K": 2**10, "M": 2**20}


class Table(NamedTuple):
    """Flags without their dashes, underscores as dashes, by the field that they fill; ``env`` are variables that fill one.

    ``switches`` take no value. ``positional``: the first word without a flag is the model. ``bearing`` are more flags that bear on
    memory; ``telling`` are flags that no other program has, of which two tell the engine.
    """

    flags: Mapping[str, str]
    env: Mapping[str, str] = {}
    switches: frozenset[str] = frozenset()
    positional: bool = False
    bearing: frozenset[str] = frozenset()
    telling: frozenset[str] = frozenset()


class Settled(NamedTuple):
    """The words without settings that hang on a variable without value, and these: the flag and the variables' names."""

    words: tuple[Word, ...]
    hidden: tuple[tuple[str, tuple[str, ...]], ...]


def flag_name(word: str) -> str:
    """``--max_model_len=8`` is max-model-len; nothing for what is no flag."""
    if not re.match(r"--?[A-Za-z]", word):
        return ""
    return word.lstrip("-").partition("=")[0].replace("_", "-")


def settled(words: Sequence[Word], table: Table) -> Settled:
    """Take out what no value is known for."""
    kept: list[Word] = []
    hidden: list[tuple[str, tuple[str, ...]]] = []
    n_positional = 0
    for word in words:
        names = left_in(word.text)
        before = kept[-1].text if kept else ""
        is_value = bool(flag_name(before)) and "=" not in before and flag_name(before) not in table.switches
        if names and word.text.startswith("-"):
            hidden.append((flag_name(word.text), names))
        elif names and is_value:
            hidden.append((flag_name(kept.pop().text), names))
        elif names:
            hidden.append(("model" if table.positional and not n_positional else "", names))
            n_positional += 1
        else:
            kept.append(word)
            n_positional += not word.text.startswith("-") and not is_value
    return Settled(tuple(kept), tuple(hidden))


def said(words: Sequence[Word], env: Mapping[str, Word], table: Table) -> dict[str, Word]:
    """The fields that a command fills: variables, then flags in order, so that the last one wins."""
    found = {field: env[name] for name, field in table.env.items() if name in env and env[name].text}
    i = 0
    model: Word | None = None
    while i < len(words):
        name = flag_name(words[i].text)
        inline = words[i].text.partition("=")
        value: Word | None = None
        if name and inline[1]:
            value = words[i]._replace(text=inline[2])
        elif name and name not in table.switches and i + 1 < len(words) and not flag_name(words[i + 1].text):
            i += 1
            value = words[i]
        elif not name and model is None:
            model = words[i]
        if name in table.flags and value is not None:
            found[table.flags[name]] = value
        i += 1
    if table.positional and model is not None:
        found.setdefault("model", model)
    return found


def count(word: Word | None) -> int | None:
    """A whole number, also 32k and 32K; None for what is none or below 1."""
    match = _NUMBER.fullmatch(word.text.strip()) if word else None
    if match is None:
        return None
    return int(float(f"{match[1]}.{match[2] or 0}") * _FACTORS[match[3]]) or None


def share(word: Word | None) -> float | None:
    """A share as a number."""
    try:
        return None if word is None else float(word.text)
    except ValueError:
        return None
