"""From what a file calls an accelerator to the catalogue: labels, products, machines; said with what it was matched by."""

import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from kvplan.checker import instances
from kvplan.checker.case import Matched
from kvplan.checker.server import Gpus, Word
from kvplan.core.errors import RequestError
from kvplan.hardware import names, table

_AZURE = re.compile(r"Standard_N[A-Z]\d+\w*?_([A-Z]+\d+\w*?)(?:_v\d+)?", re.IGNORECASE)  # a size that no table holds names its card
_CLOSE = 0.06  # of a card's memory: labels give what the driver shows, ECC and firmware set apart


class Card(NamedTuple):
    """One accelerator that a server may land on: matched, or why it could not be; ``n_gpus`` where its machine says how many.

    ``is_machine``: the name is that of a machine, which may have several.
    """

    matched: Matched | None
    problem: str | None = None
    n_gpus: int | None = None
    is_machine: bool = False


def find(said: Gpus, labels: Mapping[str, str], default: str | None) -> tuple[Card, ...]:
    """The accelerators that a file names, each once; where it names none the ``default``, where there is none nothing known.

    ``labels`` are the project's own names of nodes. A slice of a card is not the card.
    """
    if said.n_gpus == 0:
        return (Card(None),)
    cards = [_card(word, labels) for word in said.names]
    known = [card for card in cards if card.matched]
    if said.memory_mib is not None and known:
        known = [_by_memory(card, said.memory_mib) for card in known]
    if known:
        return tuple({card.matched.gpu: card for card in known if card.matched}.values()) or tuple(known[:1])
    sliced = [card for card in cards if card.problem and "slice" in card.problem]
    if sliced:
        return tuple(sliced[:1])
    if default is not None and default.lower() != "none":
        gpu, _, count = default.partition(":")
        return (Card(Matched(names.resolve(gpu).id, None), n_gpus=int(count) if count.isdecimal() else None),)
    return tuple(cards[:1]) or (Card(None),)


def _card(word: Word, labels: Mapping[str, str]) -> Card:
    text = labels.get(word.text, word.text)
    machine = instances.find(text)
    if machine is not None:
        if machine.part:
            return Card(None, f"{text} has a slice of a {machine.gpu}")
        return Card(Matched(machine.gpu, word), n_gpus=machine.n_gpus, is_machine=True)
    azure = _AZURE.fullmatch(text)
    try:
        return Card(Matched(names.resolve(azure[1] if azure else text.partition(":")[0]).id, word), is_machine=azure is not None)
    except RequestError as problem:
        return Card(None, problem.message)


def _by_memory(card: Card, mib: int) -> Card:
    """The memory that a node's label gives beats what its product's name suggests."""
    assert card.matched is not None
    if _is_close(card.matched.gpu, mib):
        return card
    siblings = _alike(card.matched.gpu)
    same = next((gpu for gpu in siblings if _is_close(gpu, mib)), None)
    if same is None:
        return Card(None, f"{card.matched.gpu} with {mib} MiB is a slice, or not in the catalogue")
    return card._replace(matched=card.matched._replace(gpu=same))


def _alike(gpu: str) -> Sequence[str]:
    """Cards of the same name and another size."""
    family = gpu.split("-")[0]
    return [other for other in table.ids() if other.split("-")[0] == family]


def _is_close(gpu: str, mib: int) -> bool:
    total = int(table.row(gpu)["driver_total_mib"])
    return abs(total - mib) <= _CLOSE * total
