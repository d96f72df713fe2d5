"""Random questions, always the same: a built-in model, a card of the catalogue, a goal."""

import random
from collections.abc import Iterator
from typing import NamedTuple

from kvplan.hardware import table
from kvplan.recommender.case import GOALS
from kvplan.specs import builtin

SEED = 20261


class Triple(NamedTuple):
    """What is asked."""

    model: str
    gpu: str
    goal: str | None


def triples(n: int) -> Iterator[Triple]:
    """The first ``n``; the last of them are the same however many there are."""
    draw = random.Random(SEED)
    models, gpus = builtin.ids(), table.ids()
    for _ in range(n):
        n_gpus = draw.choice((1, 1, 1, 2, 4, 8))
        gpu = draw.choice(gpus)
        yield Triple(draw.choice(models), gpu if n_gpus == 1 else f"{gpu}:{n_gpus}", draw.choice((None, *GOALS)))
