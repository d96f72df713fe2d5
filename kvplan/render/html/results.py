"""What other commands answered: runs beside their estimates, proposals, checked files, sweeps."""

from collections.abc import Iterator
from typing import NamedTuple

from kvplan.render.shell import line
from kvplan.render.html.figures import Figure, Span, Words, count, percent, rate, rate_span, size, size_span, some
from kvplan.render.html.grid import VERDICTS, Map, grids
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
    ok: bool
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


class Proposal(NamedTuple):
    """A command that fits for certain."""

    command: str
    needed: Figure
    left: Figure
    longest: Words
    users: Words
    tokens: Span | None
    quality: str
    why: str
    checkpoint: str


class Advice(NamedTuple):
    """A recommendation."""

    file: str
    title: str
    proposals: tuple[Proposal, ...]


class Deployment(NamedTuple):
    """A server of a checked file."""

    where: str
    name: str
    engine: str
    model: str
    context: Words
    gpu: str
    needed: Figure | None
    usable: Figure | None
    verdict: str
    words: str


class Note(NamedTuple):
    """A finding or a refusal."""

    level: str
    rule: str
    where: str
    message: str
    hint: str
    fixes: tuple[str, ...] = ()


class Check(NamedTuple):
    """Checked files."""

    file: str
    deployments: tuple[Deployment, ...]
    notes: tuple[Note, ...]


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
    scale = Linear(0, max(edges, default=1))
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
        term["ok"].on,
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


def advice(result: Part) -> Advice:
    """A recommendation's view."""
    found = result["answer"]
    n_devices = found["device.n_devices"].whole if found["device.n_devices"].given else 0
    device = found["device.id"].text or ("this budget" if n_devices else "no GPU")
    title = f"{found['model'].text} on {f'{n_devices} × ' if n_devices > 1 else ''}{device}"
    goal = found["goal"].text
    return Advice(result["file"].text, f"{title} · goal {goal}" if goal else title, tuple(map(_proposal, found["proposals"])))


def _proposal(one: Part) -> Proposal:
    return Proposal(
        line([word.text for word in one["command"]]),
        size(one["needed_bytes"]),
        size(one["headroom_bytes"]),
        some(one["capacity.max_ctx_tokens"]),
        some(one["capacity.max_batch"]),
        rate_span(one["performance.decode_tokens_per_s"]),
        one["quality_risk.text"].text,
        one["why"].text,
        one["checkpoint.how"].text if one["needs_checkpoint"].on else "",
    )


def check(result: Part) -> Check:
    """A check's view."""
    found = result["answer"]
    return Check(result["file"].text, tuple(map(_deployment, found["deployments"])), tuple(map(note, found["findings"])))


def _deployment(one: Part) -> Deployment:
    verdict = one["verdict"].text if one["verdict"].text in VERDICTS else "unknown"
    gpus = f"{one['n_gpus'].whole:,} × " if one["n_gpus"].given and one["n_gpus"].whole > 1 else ""
    return Deployment(
        f"{one['file'].text}:{one['line'].whole}",
        one["name"].text,
        f"{one['engine'].text} {one['version'].text}".strip(),
        one["model"].text,
        count(one["ctx_tokens"]) if one["ctx_tokens"].given else "",
        f"{gpus}{one['gpu'].text}" if one["gpu"].given else "",
        size(one["needed_bytes"]) if one["needed_bytes"].given else None,
        size(one["usable_bytes"]) if one["usable_bytes"].given else None,
        verdict,
        VERDICTS[verdict],
    )


def note(one: Part) -> Note:
    """A finding's view."""
    where = f"{one['file'].text}:{one['line'].whole}" if one["file"].given and one["line"].given else ""
    fixes = (f"{fix['flag'].text}: {fix['from'].text} → {fix['to'].text}" for fix in one["fixes"])
    return Note(one["level"].text, one["rule"].text, where, one["message"].text, one["hint"].text, tuple(fixes))


def sweep(result: Part) -> Sweep:
    """A sweep's view."""
    found = result["answer"]
    first = next(iter(found["points"]), Part(None))
    fixed = (first["model"].text, f"{first['engine'].text} {first['version'].text}".strip(), first["gpu"].text)
    ran = [point for point in found["points"] if point["measured"].given]
    return Sweep(
        result["file"].text,
        " · ".join(part for part in fixed if part),
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
