"""A comparison as text and JSON: a column a side, the first one the measure of the others."""

from collections.abc import Iterator, Sequence

from kvplan.comparer import Change, Comparison, Row
from kvplan.core.ledger import Interval
from kvplan.core.units import GIB, KIB, MIB, format_size
from kvplan.estimator import Estimate
from kvplan.render import json_
from kvplan.render.envelope import enveloped
from kvplan.render.speed import short
from kvplan.render.table import aligned

_UNITS = ((GIB, "GiB"), (MIB, "MiB"), (KIB, "KiB"), (1, "B"))
_WORDS = {
    "headroom_bytes": "left",
    "max_ctx_tokens": "longest context",
    "max_batch": "largest batch, for certain",
    "kv_tokens": "tokens in the pool",
    "max_concurrency": "requests at once",
    "decode_tokens_per_s": "tokens/s in all",
    "reserved_bytes": "cache of this workload",
    "bytes_per_token": "cache per token",
    "marginal_bytes_per_token": "cache per further token",
}

_ROUGH = ("decode_tokens_per_s",)


def text(found: Comparison) -> str:
    """The whole answer, ending in a newline."""
    first = found.answers[0].workload
    same = all(one.workload == first for one in found.answers)
    load = f"{first.ctx_tokens:,} tokens × {first.batch}" if same else "each at its own workload"
    unit, unit_name = _unit(found.rows)
    head = (f"{unit_name} on the fullest place", *(side.label for side in found.sides))
    table = [head, *_bytes(found.rows, unit), ("",) * len(head), *_figures(found.changes)]
    return "\n".join((load, "", *aligned(table), "", *_summary(found), ""))


def _unit(rows: Sequence[Row]) -> tuple[int, str]:
    largest = max(size.best for row in rows for size in row.sizes)
    return next((unit, name) for unit, name in _UNITS if largest >= unit)


def _bytes(rows: Sequence[Row], unit: int) -> Iterator[tuple[str, ...]]:
    for row in rows:
        cells = [_cell(size, delta, unit, others=n > 0) for n, (size, delta) in enumerate(zip(row.sizes, row.deltas, strict=True))]
        yield (row.term.replace("_", " "), *cells)


def _cell(size: Interval, delta: int, unit: int, *, others: bool) -> str:
    spread = "" if size.low == size.high else f" ({size.low / unit:.2f} – {size.high / unit:.2f})"
    moved = f"{abs(delta) / unit:.2f}"
    change = f" {'+' if delta > 0 else '−'}{moved}" if others and float(moved) else ""
    return f"{size.best / unit:.2f}{spread}{change}"


def _figures(changes: Sequence[Change]) -> Iterator[tuple[str, ...]]:
    for change in changes:
        if any(value is not None for value in change.values):
            yield (_WORDS.get(change.name, change.name), *(_shown(change.name, value) for value in change.values))


def _shown(name: str, value: float | str | None) -> str:
    if value is None:
        return "–"
    if isinstance(value, str):
        return value.replace("_", " ")
    if "bytes" in name:
        return f"{'−' if value < 0 else ''}{format_size(abs(int(value)))}"
    return f"{value:,}" if isinstance(value, int) else short(value) if name in _ROUGH else f"{value:.2f}"


def _summary(found: Comparison) -> Iterator[str]:
    """What each side gives beside the first, in a line."""
    known = {change.name: change.values for change in found.changes}
    for n, side in enumerate(found.sides[1:], 1):
        parts = [f"needs {_more(found.rows[-1].deltas[n])}"]
        parts += [part for name, what in (("max_ctx_tokens", "context"), ("max_batch", "batch")) if (part := _moved(known[name], n, what))]
        yield f"{side.label} beside {found.sides[0].label}: {', '.join(parts)}"


def _more(delta: int) -> str:
    return "the same" if not delta else f"{format_size(abs(delta))} {'more' if delta > 0 else 'less'}"


def _moved(values: Sequence[int | float | str | None], n: int, what: str) -> str:
    before, after = values[0], values[n]
    if not isinstance(before, int) or not isinstance(after, int):
        return ""
    return f"the same {what}" if before == after else f"{what} {after:,} for {before:,}"


def as_json(found: Comparison) -> dict[str, object]:
    """The JSON object of ``kvplan compare``: each side's own estimate in full, then the differences."""
    return enveloped(
        {
            "sides": [{"label": side.label, **_inside(one)} for side, one in zip(found.sides, found.answers, strict=True)],
            "terms": [_row(row) for row in found.rows],
            "figures": [{"name": change.name, "values": list(change.values), "differs": change.differs} for change in found.changes],
        }
    )


def _inside(found: Estimate) -> dict[str, object]:
    return {key: value for key, value in json_.estimate(found).items() if key not in ("schema_version", "kvplan")}


def _row(row: Row) -> dict[str, object]:
    sizes = [{"bytes": size.best, "low_bytes": size.low, "high_bytes": size.high} for size in row.sizes]
    return {"term": row.term, "sides": sizes, "delta_bytes": list(row.deltas), "differs": row.differs}
