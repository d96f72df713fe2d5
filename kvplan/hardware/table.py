"""gpus.tsv as rows of text; a look-up touches one row, not all of them."""

import os
from functools import cache
from typing import NamedTuple

_TSV = os.path.join(os.path.dirname(__file__), "gpus.tsv")


class Names(NamedTuple):
    """What a card is called; a cell with several names separates them by ``|``.

    ``aliases`` mean this card alone. ``shorthand`` is a shorter name that could mean one of ``siblings`` too and is
    taken as this one. ``labels`` are what NVML and the ``gpu.product`` label print, in the label's spelling; cards of
    different size can share one. ``gke`` are accelerator names of Google Kubernetes Engine.
    """

    id: str
    name: str
    aliases: str
    shorthand: str
    siblings: str
    labels: str
    gke: str


@cache
def _lines() -> tuple[str, dict[str, str]]:
    with open(_TSV, encoding="utf-8") as file:
        header, *lines = file.read().splitlines()
    return header, {line.split("\t", 1)[0]: line for line in lines}


def ids() -> tuple[str, ...]:
    """Every id, in the order of the file."""
    return tuple(_lines()[1])


def row(gpu_id: str) -> dict[str, str]:
    """The row with that id, by column. Raises KeyError for an id that is not there."""
    header, lines = _lines()
    return dict(zip(header.split("\t"), lines[gpu_id].split("\t"), strict=True))


def names() -> list[Names]:
    """What each card is called, in the order of the file."""
    return [Names(*line.split("\t", 7)[:7]) for line in _lines()[1].values()]
