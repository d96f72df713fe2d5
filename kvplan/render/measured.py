"""A measured sweep as text, JSON and CSV: latency, tokens per second and memory beside each other."""

from collections.abc import Iterable, Iterator, Mapping
from itertools import chain
from typing import NamedTuple

from kvplan.core.units import GIB, KIB, MIB
from kvplan.estimator.knee import Curves, Pace
from kvplan.estimator.sweep import Axis
from kvplan.render import knees, points
from kvplan.render.columns import Columns
from kvplan.render.envelope import enveloped
from kvplan.render.table import csv_line
from kvplan.verifier.sweep import Measurement
from kvplan.verifier.timings import Spread

Row = tuple[tuple[str | None, ...], Measurement]
_HEADS = ("ttft ms", "tpot ms", " p95 ms", "late", "tokens/s")


def text(axes: tuple[Axis, ...], rows: Iterable[Row]) -> Iterator[str]:
    """What ran where, the names of the columns, a line for each point as it is done, and why points failed.

    The first run that came to something chooses the unit of all peaks.
    """
    rest = iter(rows)
    first: list[Row] = []
    for row in rest:
        first.append(row)
        if row[1].peak_bytes is not None:
            break
    columns, unit = Columns(axes), _unit(first[-1][1])
    heads = (*_HEADS, f"peak {unit.name}", "estimated")
    yield from (_heading(columns, first[-1][1]), "", "  ".join((*columns.heads, *heads, "outcome")))
    reasons: dict[str, str] = {}
    curves = Curves()
    for at, found in chain(first, rest):
        _add(curves, at, found)
        cells = zip(_figures(found, unit.n_bytes), heads, strict=True)
        yield "  ".join((*columns.cells(at), *(cell.rjust(len(head)) for cell, head in cells), _outcome(found)))
        reasons.update({found.failure.kind: found.failure.message} if found.failure and found.failure.kind not in reasons else {})
        reasons.update({_OFF: _OFF_MEANS} if found.agrees is False else {})
    yield from ("", *(f"{kind}: {why}" for kind, why in reasons.items())) if reasons else ()
    yield from knees.lines(axes, curves.knees)


def _add(curves: Curves, at: tuple[str | None, ...], found: Measurement) -> None:
    rate = found.timings and found.timings.decode_tokens_per_s
    if rate and found.batch and found.peak_bytes:
        curves.add(at, Pace(found.batch, rate, found.peak_bytes))


_OFF = "off its estimate"
_OFF_MEANS = "a term is outside its tolerance, the peak or another; `kvplan verify` of that point names it"


class _Unit(NamedTuple):
    name: str
    n_bytes: int


def _unit(found: Measurement) -> _Unit:
    peak = found.peak_bytes or 0
    return next((unit for unit in (_Unit("GiB", GIB), _Unit("MiB", MIB)) if peak >= unit.n_bytes), _Unit("KiB", KIB))


def _heading(columns: Columns, found: Measurement) -> str:
    where = {"cuda": found.device, "cpu": f"cpu {found.device}", "trace": "trace"}.get(found.tier or "")
    versions = [f"{name} {version}" for name, version in (found.versions or {}).items() if name in ("torch", "transformers")]
    return " · ".join(part for part in (found.model, where, *versions, *columns.fixed("model", "engine")) if part)


def _figures(found: Measurement, unit: int) -> tuple[str, ...]:
    """Time to the first token, per token (median, p95), of late tokens against early ones, rate, peak, its estimate."""
    taken = found.timings
    deciles = taken.tpot_by_decile_s if taken else ()
    rate = taken.decode_tokens_per_s if taken else None
    return (
        _ms(taken and taken.ttft_s),
        _ms(taken and taken.tpot_s),
        "" if taken is None or taken.tpot_s is None else f"{taken.tpot_s.p95 * 1000:,.1f}",
        f"{deciles[-1] / deciles[0]:.2f}" if len(deciles) > 1 else "",
        "" if rate is None else f"{rate:,.1f}",
        *("" if n_bytes is None else f"{n_bytes / unit:,.2f}" for n_bytes in (found.peak_bytes, found.estimated_peak_bytes)),
    )


def _ms(spread: Spread | None) -> str:
    return "" if spread is None else f"{spread.p50 * 1000:,.1f}"


def _outcome(found: Measurement) -> str:
    if found.failure is not None:
        return found.outcome if found.outcome == found.failure.kind else f"{found.outcome}, {found.failure.kind}"
    return found.outcome if found.agrees else f"{found.outcome}, {_OFF}"


def as_json(axes: tuple[Axis, ...], rows: Iterable[Row]) -> dict[str, object]:
    """The JSON object of ``kvplan sweep --measure``: that of an estimated one, with what was measured in each point."""
    seen, curves = list(rows), Curves()
    for row in seen:
        _add(curves, *row)
    made = {"points": [_point(axes, *row) for row in seen], "frontier": [], "knees": knees.as_json(axes, curves.knees)}
    return enveloped({"axes": points.of_axes(axes), **made})


def _point(axes: tuple[Axis, ...], at: tuple[str | None, ...], found: Measurement) -> dict[str, object]:
    return {
        **_estimated(axes, at, found),
        "warnings": [],
        "refusals": [],
        "error": _error(found),
        "performance": None,
        "measured": _measured(found),
    }


def _estimated(axes: tuple[Axis, ...], at: tuple[str | None, ...], found: Measurement) -> dict[str, object]:
    said = dict(zip((axis.option for axis in axes), at, strict=True))
    versions, needed = found.versions or {}, found.needed
    return {
        "model": found.model or said["model"],
        "engine": "transformers",
        "version": versions.get("transformers"),
        "gpu": found.device if found.tier == "cuda" else None,
        "n_devices": 1 if found.tier == "cuda" else 0,
        **points.settings(axes, at),
        "ctx_tokens": found.ctx_tokens or points.value("ctx", said["ctx"]),
        "batch": found.batch or points.value("batch", said["batch"]),
        "prompt_tokens": found.prompt_tokens or points.value("prompt", said.get("prompt")),
        "needed_bytes": needed and needed.best,
        "needed_low_bytes": needed and needed.low,
        "needed_high_bytes": needed and needed.high,
        "headroom_bytes": found.headroom_bytes,
        "verdict": found.verdict,
        "beyond_limit": False,
    }


def _error(found: Measurement) -> dict[str, object] | None:
    return found.failure._asdict() if found.failure and found.outcome == "failed" else None


def _measured(found: Measurement) -> dict[str, object]:
    taken = found.timings
    return {
        "outcome": found.outcome,
        "tier": found.tier,
        "device": found.device,
        "peak_bytes": found.peak_bytes,
        "estimated_peak_bytes": found.estimated_peak_bytes,
        "device_bytes": found.device_bytes,
        "agrees": found.agrees,
        "ttft_s": taken and taken.ttft_s._asdict(),
        "tpot_s": taken and taken.tpot_s and taken.tpot_s._asdict(),
        "tpot_by_decile_s": list(taken.tpot_by_decile_s) if taken else [],
        "decode_tokens_per_s": taken and taken.decode_tokens_per_s,
        "n_steps": taken and taken.n_steps,
        "n_repeats": taken and taken.n_repeats,
        "versions": found.versions or {},
    }


def as_csv(axes: tuple[Axis, ...], rows: Iterable[Row]) -> Iterator[str]:
    """A line for the names of the columns, and one for each point; spreads are their median and p95."""
    for number, (at, found) in enumerate(rows):
        measured = _flat(_measured(found))
        row = {**_estimated(axes, at, found), **measured, "error": found.failure and found.failure.message}
        yield (csv_line(row) if not number else "") + csv_line(row.values())


def _flat(measured: Mapping[str, object]) -> dict[str, object]:
    flat = {
        key: value
        for key, value in measured.items()
        if not isinstance(value, dict | list) and not key.endswith("pot_s") and key != "ttft_s"
    }
    for key in ("ttft_s", "tpot_s"):
        spread = measured[key]
        flat |= {f"{key}_{rank}": spread[rank] if isinstance(spread, dict) else None for rank in ("p50", "p95")}
    deciles = measured["tpot_by_decile_s"]
    return {**flat, "tpot_by_decile_s": " ".join(map(str, deciles)) if isinstance(deciles, list) else ""}
