"""What each of several choices needs, drawn in what it may use."""

from typing import NamedTuple

from kvplan.render.html import headline
from kvplan.render.html.figures import percent
from kvplan.render.html.ledger import Range
from kvplan.render.html.part import Part
from kvplan.render.html.scale import Linear

_ROOM = 1.1  # right of the largest
_PAST_THE_END = 100.0  # a card on which all choices would fit twice needs no more room in the table


class Bar(NamedTuple):
    """What is needed in what is usable, on one scale for all choices; no ``usable`` where nobody knows."""

    need: Range
    usable: str


def scale_of(estimates: list[Part]) -> Linear:
    """What the bars of all choices are drawn on: the largest need, and usable memory up to twice that."""
    needed = max((found["needed_high_bytes"].whole for found in estimates), default=0)
    usable = max((headline.fullest(found)["usable_bytes"].whole for found in estimates if found["headroom_bytes"].given), default=0)
    return Linear(0, max(needed, min(usable, 2 * needed)) * _ROOM or 1)


def bar(found: Part, scale: Linear) -> Bar:
    """The bar of one choice."""
    low, best, high = (scale.at(found[f"needed_{bound}bytes"].whole) for bound in ("low_", "", "high_"))
    usable = headline.fullest(found)["usable_bytes"]
    shown = percent(min(_PAST_THE_END, scale.at(usable.whole))) if usable.given else ""
    return Bar(Range(percent(low), percent(high - low), percent(best), percent(high)), shown)
