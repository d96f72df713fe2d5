"""A verification as text and JSON: each term's estimate beside what was measured."""

from kvplan.core.units import format_size
from kvplan.render import speed, without_cache
from kvplan.render.envelope import enveloped
from kvplan.render.table import aligned
from kvplan.verifier.reconcile import Term
from kvplan.verifier.verification import UNSEEN, Verification

_HEAD = ("term", "phase", "estimate", "measured", "off by", "allowed", "")


def text(found: Verification) -> str:
    """The whole answer, ending in a newline."""
    record, load = found.record, found.estimate.workload
    device = record.device.name or "this processor"
    head = f"{record.job.id} · {found.tier} on {device} · {load.ctx_tokens} tokens × {load.batch} · {record.outcome}"
    versions = " · ".join(f"{name} {value}" for name, value in record.versions.items() if value)
    lines = aligned([_HEAD, *(_row(term) for term in found.terms)], left=frozenset({0, 1, 6}))
    unseen = (f"not seen: {'; '.join(UNSEEN)}",) if found.tier == "trace" else ()
    verdict = "agrees with the estimate" if found.ok else "does not agree with the estimate"
    saved = (f"recorded in {', '.join(map(str, found.saved))}",) if found.saved else ()
    took = (*speed.lines(record.timings), *without_cache.lines(found))
    return "\n".join((head, "", *lines, "", *took, versions, *unseen, *saved, verdict, ""))


def as_json(found: Verification) -> dict[str, object]:
    """The JSON object of ``kvplan verify``."""
    record = found.record
    return enveloped(
        {
            "tier": found.tier,
            "ok": found.ok,
            "model": record.job.id,
            "workload": found.estimate.workload._asdict(),
            "outcome": record.outcome,
            "terms": [_term(term) for term in found.terms],
            "timings": speed.as_json(record.timings),
            "no_cache": without_cache.as_json(found),
            "versions": record.versions,
            "device": record.device._asdict(),
            "unseen": list(UNSEEN) if found.tier == "trace" else [],
        }
    )


def _term(term: Term) -> dict[str, object]:
    return {
        "term": term.term,
        "phase": term.phase,
        "estimate_bytes": term.estimate.best,
        "low_bytes": term.estimate.low,
        "high_bytes": term.estimate.high,
        "measured_bytes": term.measured_bytes,
        "tolerance_bytes": term.tolerance_bytes,
        "ok": term.ok,
    }


def _row(term: Term) -> tuple[str, ...]:
    off = term.measured_bytes - term.estimate.best
    return (
        term.term,
        term.phase,
        format_size(term.estimate.best),
        format_size(term.measured_bytes),
        f"{'-' if off < 0 else '+'}{format_size(abs(off))}" if off else "0 B",
        format_size(term.tolerance_bytes),
        "ok" if term.ok else "OUT",
    )
