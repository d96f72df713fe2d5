"""A server's metrics as text and JSON."""

from kvplan.core.units import format_size
from kvplan.explainer.measure import Measure
from kvplan.explainer.metrics import Metrics
from kvplan.render.envelope import document
from kvplan.render.table import aligned


def as_json(found: Metrics) -> str:
    """The JSON document of ``kvplan explain --url``."""
    return document({**found._asdict(), "measures": _named(found.measures), "estimated": _named(found.estimated)})


def _named(measures: tuple[Measure, ...]) -> list[dict[str, object]]:
    return [measure._asdict() for measure in measures]


def text(found: Metrics) -> str:
    """The whole answer, ending in a newline."""
    lines = [" · ".join(part for part in (found.engine, found.model) if part), "", *aligned([_row(measure) for measure in found.measures])]
    if found.pool_tokens is not None:
        beside = "" if found.estimated_pool_tokens is None else f", {found.estimated_pool_tokens:,} estimated"
        lines += ["", f"the pool holds {found.pool_tokens:,} tokens{beside}"]
    if found.estimated:
        lines += ["", "estimated", *aligned([_row(measure) for measure in found.estimated])]
    return "\n".join((*lines, *(f"note: {note}" for note in found.notes), ""))


def _row(measure: Measure) -> tuple[str, str]:
    if measure.unit == "share":
        return measure.label, f"{100 * measure.value:.1f} %"
    if measure.unit == "bytes":
        return measure.label, format_size(int(measure.value))
    value = f"{measure.value:,.0f}" if measure.value.is_integer() else f"{measure.value:,.1f}"
    return measure.label, f"{value} {measure.unit}"
