"""From what people and machines call a GPU to its id: ``H100``, ``rtx 4090``, ``NVIDIA-H100-80GB-HBM3``."""

import re
from functools import cache
from typing import NamedTuple

from kvplan.core.errors import RequestError, near_matches
from kvplan.hardware import table

# Words that tell no two cards of the catalogue apart.
_NOISE = ("nvidia", "geforce", "tesla", "quadro", "rtx", "amd", "instinct", "radeon", "rx", "intel", "apple", "generation", "edition")
_DROPPED = str.maketrans("", "", " -_()./,\t")
_SLICE = re.compile(r"\bmig\b|\d+g\.\d+gb", re.IGNORECASE | re.ASCII)
_SHARED = re.compile(r"[- ]shared$", re.IGNORECASE)
_SIZED = re.compile(r"(.+?)[\s_-]+(\d{1,4})\s*g(?:i?b)?", re.IGNORECASE | re.ASCII)
_ALL = "`kvplan gpus` shows all; --budget 24GiB stands for any other device"


class Match(NamedTuple):
    """The card that a name means; ``note`` says so where it could have meant another."""

    id: str
    note: str | None = None


class _Index(NamedTuple):
    exact: dict[str, tuple[str, ...]]
    shorthand: dict[str, str]
    siblings: dict[str, tuple[str, ...]]


def resolve(text: str) -> Match:
    """The card that ``text`` names, whatever its case, spaces and dashes.

    Raises RequestError: unknown (with near matches), a name that cards of different size share, a MIG slice.
    """
    if text.lower() in table.ids():
        return Match(text.lower())
    if _SLICE.search(text):
        raise RequestError(
            "unknown_gpu",
            f"'{_shown(text)}' is a MIG slice, not a whole GPU",
            hint="give the memory of the slice, for example --budget 9.75GiB",
        )
    whole = _SHARED.sub("", text)
    found = _sized(whole) or _named(whole)
    if found is None:
        raise _unknown(text)
    if whole == text:
        return found
    return found._replace(note=f"'{text}' is a GPU ({found.id}) that other containers use too: their memory counts")


def is_spelled(text: str) -> bool:
    """Whether ``text`` is a name or alias as the catalogue spells it, upper and lower case alike."""
    return any(text.lower() in f"{card.name}|{card.aliases}".lower().split("|") for card in table.names())


def with_label(name: str) -> tuple[str, ...]:
    """The ids of the cards that NVML calls ``name``: none, one, or several of different size."""
    return _index().exact.get(_label(name), ())


def _named(text: str) -> Match | None:
    index, key = _index(), fold(text)
    labelled = index.exact.get(_label(text), ())
    if len(labelled) == 1:
        return Match(labelled[0])
    chosen = index.shorthand.get(key)
    if chosen is not None:
        return Match(chosen, _note(text, chosen, index.siblings[chosen]))
    found = labelled or index.exact.get(key, ())
    if len(found) > 1:
        raise RequestError(
            "unknown_gpu",
            f"'{_shown(text)}' is the name of {len(found)} GPUs of different size",
            hint=f"say {' or '.join(found)}",
        )
    return Match(found[0]) if found else None


def _sized(text: str) -> Match | None:
    """``a100 40gb``, ``RTX 4060 Ti 16GB``: a name with the marketed size behind it, where the name alone would do or be ambiguous."""
    split = _SIZED.fullmatch(text.strip())
    index = _index()
    if split is None or fold(text) in index.exact or _label(text) in index.exact:
        return None
    key, size = fold(split[1]), float(split[2])
    chosen = index.shorthand.get(key)
    meant = (chosen, *index.siblings[chosen]) if chosen else index.exact.get(key, ())
    sizes = {gpu_id: float(table.row(gpu_id)["memory_gb"]) for gpu_id in meant}
    same = tuple(gpu_id for gpu_id in meant if sizes[gpu_id] == size)
    if same:
        return Match(same[0], _note(text, same[0], same[1:]) if same[1:] else None)
    if meant:
        known = " or ".join(f"{size:g} GB ({gpu_id})" for gpu_id, size in sizes.items())
        raise RequestError(
            "unknown_gpu",
            f"'{_shown(text)}': the catalogue has {split[1]} with {known}",
            hint="take one of these, or give the usable memory: --budget 24GiB (Apple: 2/3 of RAM up to 32 GB, 3/4 above)",
        )
    return None


def fold(text: str) -> str:
    """``text`` without case, separators and the words that tell nothing apart: ``NVIDIA GeForce RTX 4090`` is ``4090``."""
    folded = text.lower().translate(_DROPPED)
    for word in _NOISE:
        folded = folded.replace(word, "")
    return folded


def _label(text: str) -> str:
    """The spelling of a Kubernetes label, which is NVML's name with dashes; marked, because folded names hold no ``:``."""
    return f"label:{text.strip().lower().replace(' ', '-')}"


@cache
def _index() -> _Index:
    """All names of all cards; folded in one piece, because a thousand small strings take longer than a whole estimate may."""
    cards = table.names()
    folded = fold("\n".join(f"{card.id}|{card.name}|{card.aliases}|{card.labels}" for card in cards)).split("\n")
    short = fold("\n".join(card.shorthand for card in cards)).split("\n")
    exact: dict[str, tuple[str, ...]] = {}
    shorthand: dict[str, str] = {}
    siblings: dict[str, tuple[str, ...]] = {}
    for card, names, shorter in zip(cards, folded, short, strict=True):
        labels = f"{card.labels}|{card.gke}".lower().split("|")
        for key in {*names.split("|"), *(f"label:{label}" for label in labels if label)}:
            exact[key] = (*exact[key], card.id) if key in exact else (card.id,)
        if shorter:
            siblings[card.id] = tuple(card.siblings.split("|")) if card.siblings else ()
            shorthand.update(dict.fromkeys(shorter.split("|"), card.id))
    exact.pop("", None)
    return _Index(exact, shorthand, siblings)


def _note(text: str, chosen: str, others: tuple[str, ...]) -> str:
    name = table.row(chosen)["name"]
    other = f"say {' or '.join(others)} for another" if others else "give --budget for another size"
    return f"'{text}' is taken as {chosen} ({name}); {other}"


def _unknown(text: str) -> RequestError:
    index = _index()
    owners = {key: ids[0] for key, ids in index.exact.items() if not key.startswith("label:")} | index.shorthand
    close = list(dict.fromkeys(owners[match] for match in near_matches(fold(text)[:60], owners)))
    hint = f"did you mean {' or '.join(repr(gpu_id) for gpu_id in close)}?  {_ALL}" if close else _ALL
    return RequestError("unknown_gpu", f"unknown GPU '{_shown(text)}'", hint=hint)


def _shown(text: str) -> str:
    return text if len(text) <= 60 else f"{text[:57]}..."
