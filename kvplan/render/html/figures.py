"""Numbers as the page shows them, each with its exact value and its place in the JSON."""

import math
from typing import NamedTuple

from kvplan.core.units import format_size
from kvplan.render.html.part import Part


class Figure(NamedTuple):
    """What is read, the exact value and the path of it in the JSON, and what hovering says."""

    text: str
    value: str
    path: str
    title: str


class Span(NamedTuple):
    """A figure and the bounds that it is expected in; no bounds where it is exact."""

    best: Figure
    low: Figure | None
    high: Figure | None


Words = str | Figure


def size(part: Part) -> Figure:
    """Bytes in the largest binary unit."""
    n_bytes = part.whole
    return Figure(f"{'−' if n_bytes < 0 else ''}{format_size(abs(n_bytes))}", str(n_bytes), part.path, f"{n_bytes:,} B")


def distance(part: Part) -> Figure:
    """Bytes without their sign, for sentences that say in words which way."""
    return size(part)._replace(text=format_size(abs(part.whole)))


def count(part: Part) -> Figure:
    """A whole number."""
    return Figure(f"{part.whole:,}", str(part.whole), part.path, "")


def some(part: Part) -> Words:
    """A count, in words where there is none or nobody knows."""
    return "unknown" if not part.given else count(part) if part.whole else "none"


def rate(part: Part, *, scale: float = 1.0) -> Figure:
    """Two digits that count, three from a hundred on; ``scale`` turns seconds into milliseconds."""
    shown = part.number * scale
    text = f"{shown:,.0f}" if shown >= 100 else f"{shown:.2g}"
    return Figure(text, repr(part.value), part.path, repr(part.value))


def size_span(parent: Part, prefix: str = "") -> Span:
    """``bytes``, ``low_bytes`` and ``high_bytes`` behind ``prefix``."""
    best, low, high = (parent[f"{prefix}{bound}bytes"] for bound in ("", "low_", "high_"))
    exact = not low.given or not high.given or low.whole == high.whole
    return Span(size(best), None if exact else size(low), None if exact else size(high))


def rate_span(part: Part, *, scale: float = 1.0) -> Span | None:
    """``low``, ``best`` and ``high`` of a figure of speed; None where it is null."""
    if not part.given:
        return None
    return Span(*(rate(part[bound], scale=scale) for bound in ("best", "low", "high")))


def percent(share: float) -> str:
    """A coordinate of a chart."""
    return f"{round(share if math.isfinite(share) else 0.0, 3):g}%"
