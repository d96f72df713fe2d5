"""What ran, beside its estimates: verifications, and sweeps with their maps."""

from collections.abc import Iterator
from typing import NamedTuple

from kvplan.render.html.figures import Figure, Span, Words, count, percent, rate, size
from kvplan.render.html.grid import Map, grids
from kvplan.render.html.ledger import Range
from kvplan.render.html.part import Part
from kvplan.render.html.scale import Linear


class TermRow(NamedTuple):
    """One thing that was measured; ``bar`` has the estimate's interval, ``dot`` what was measured."""

    term: str
    phase: str
    estimate: Span | None
    measured: Figure
    tolerance: Figure
    agrees: str
    bar: Range | None
    dot: str


class Run(NamedTuple):
    """A verification."""

    file: str
    title: str
    ok: bool
    terms: tuple[TermRow, ...]
    speeds: tuple[tuple[str, Figure, str], ...]
    versions: str
    notes: tuple[str, ...]


class MeasuredPoint(NamedTuple):
    """A point of a sweep that ran."""

    ctx: Figure
    batch: Figure
    outcome: str
    estimated: Figure | None
    peak: Figure | None
    tokens: Figure | None


class Sweep(NamedTuple):
    """A sweep: its maps, and its points that ran."""

    file: str
    title: str
    maps: tuple[Map, ...]
    measured: tuple[MeasuredPoint, ...]


def run(result: Part) -> Run:
    """A verification's view."""
    found = result["answer"]
    load, device = found["workload"], found["device.name"].text or "this processor"
    terms = list(found["terms"])
    edges = [term[key].whole for term in terms for key in ("high_bytes", "measured_bytes") if term[key].given]
    scale = Linear(0, max(edges, default=1) or 1)
    words = f"{load['ctx_tokens'].whole:,} tokens × {load['batch'].whole:,}"
    title = f"{found['model'].text} · {found['tier'].text} on {device} · {words} · {found['outcome'].text}"
    return Run(
        result["file"].text,
        title,
        found["ok"].on,
        tuple(_term(term, scale) for term in terms),
        tuple(_speeds(found["timings"])),
        " · ".join(f"{name} {version.text}" for name, version in found["versions"].items() if version.given),
        (*(note.text for note in found["notes"]), *(f"not seen: {one['message'].text}" for one in found["not_modeled"])),
    )


def reach_in_words(result: Part) -> tuple[Words, ...]:
    """The largest batch of a sweep of which a context fits for certain, and the longest context that does."""
    found = [one for one in result["answer.frontier"] if one["ctx_tokens"].given]
    if not found:
        return ()
    most = max(found, key=lambda one: (one["at.batch"].whole if one["at.batch"].given else 1, one["ctx_tokens"].whole))
    longest = max(found, key=lambda one: one["ctx_tokens"].whole)
    users: tuple[Words, ...] = ("up to ", count(most["at.batch"]), " users of ") if most["at.batch"].given else ("one user of ",)
    return (
        "Fits for certain: ",
        *users,
        count(most["ctx_tokens"]),
        " tokens; contexts of up to ",
        count(longest["ctx_tokens"]),
        " tokens.",
    )


def in_words(one: Run) -> str:
    """Whether the estimate agrees, in a sentence."""
    known = [term for term in one.terms if term.estimate]
    off = ", ".join(f"{term.term} ({term.phase})" for term in known if term.agrees == _NO)
    if not known:
        return f"{one.title}: nothing to compare."
    return (
        f"The estimate agrees with the run in every term: {one.title}."
        if one.ok
        else f"The run is off its estimate{f' in {off}' if off else ''}: {one.title}."
    )


_YES, _NO = "✓ yes", "✕ no"


def _term(term: Part, scale: Linear) -> TermRow:
    known = term["estimate_bytes"].given
    bar = None
    if known:
        low, best, high = (scale.at(term[key].whole) for key in ("low_bytes", "estimate_bytes", "high_bytes"))
        bar = Range(percent(low), percent(high - low), percent(best), percent(high))
    return TermRow(
        term["term"].text.replace("_", " "),
        term["phase"].text,
        Span(size(term["estimate_bytes"]), *_bounds(term)) if known else None,
        size(term["measured_bytes"]),
        size(term["tolerance_bytes"]),
        "–" if not known else _YES if term["ok"].on else _NO,
        bar,
        percent(scale.at(term["measured_bytes"].whole)),
    )


def _bounds(term: Part) -> tuple[Figure | None, Figure | None]:
    exact = term["low_bytes"].value == term["high_bytes"].value
    return (None, None) if exact else (size(term["low_bytes"]), size(term["high_bytes"]))


def _speeds(timings: Part) -> Iterator[tuple[str, Figure, str]]:
    for key, name in (("ttft_s", "to the first token, median"), ("tpot_s", "from one token to the next, median")):
        if timings[f"{key}.p50"].given:
            yield name, rate(timings[f"{key}.p50"], scale=1000), "ms"
    if timings["decode_tokens_per_s"].given:
        yield "in all", rate(timings["decode_tokens_per_s"]), "tokens/s"


def sweep(result: Part) -> Sweep:
    """A sweep's view."""
    found = result["answer"]
    first = next(iter(found["points"]), Part(None))
    varied = {axis["option"].text for axis in found["axes"] if len(list(axis["values"])) > 1}
    engine = f"{first['engine'].text} {first['version'].text}".strip()
    said = (("model", first["model"].text), ("engine", engine), ("gpu", first["gpu"].text))
    ran = [point for point in found["points"] if point["measured"].given]
    return Sweep(
        result["file"].text,
        " · ".join(text for option, text in said if text and option not in varied),
        () if ran else grids(found, None),
        tuple(map(_measured, ran)),
    )


def _measured(point: Part) -> MeasuredPoint:
    found = point["measured"]
    peak, estimated, tokens = found["peak_bytes"], found["estimated_peak_bytes"], found["decode_tokens_per_s"]
    return MeasuredPoint(
        count(point["ctx_tokens"]),
        count(point["batch"]),
        found["outcome"].text,
        size(estimated) if estimated.given else None,
        size(peak) if peak.given else None,
        rate(tokens) if tokens.given else None,
    )
