"""A verification as text and JSON: each term's estimate beside what was measured."""

from kvplan.core.units import format_size
from kvplan.render import timed, without_cache
from kvplan.render.envelope import enveloped
from kvplan.render.table import aligned
from kvplan.verifier.observed import phases
from kvplan.verifier.term import Term
from kvplan.verifier.unseen import not_seen, notes
from kvplan.verifier.verification import Verification

_HEAD = ("term", "phase", "estimate", "measured", "off by", "allowed", "")


def text(found: Verification) -> str:
    """The whole answer, ending in a newline."""
    record, load = found.record, found.record.job
    device = record.device.name or "this processor"
    head = f"{record.job.id} · {found.tier} on {device} · {load.ctx_tokens} tokens × {load.batch} · {record.outcome}"
    versions = " · ".join(f"{name} {value}" for name, value in record.versions.items() if value)
    lines = aligned([_HEAD, *(_row(term) for term in found.terms)], left=frozenset({0, 1, 6}))
    missed = not_seen(record)
    unseen = (*notes(found), *((f"not seen: {'; '.join(one.message for one in missed)}",) if missed else ()))
    saved = (f"recorded in {', '.join(map(str, found.saved))}",) if found.saved else ()
    took = (*timed.lines(record.timings), *without_cache.lines(found))
    return "\n".join((head, "", *lines, "", *took, versions, *unseen, *saved, _verdict(found), ""))


def as_json(found: Verification) -> dict[str, object]:
    """The JSON object of ``kvplan verify``."""
    record = found.record
    return enveloped(
        {
            "tier": found.tier,
            "ok": found.ok,
            "model": record.job.id,
            "workload": {key: getattr(record.job, key) for key in ("ctx_tokens", "batch", "prompt_tokens")},
            "outcome": record.outcome,
            "terms": [_term(term) for term in found.terms],
            "timings": timed.as_json(record.timings),
            "no_cache": without_cache.as_json(found),
            "versions": record.versions,
            "device": record.device._asdict(),
            "attention": {name: phase.kernels for name, phase in phases(record)},
            "not_modeled": [one._asdict() for one in not_seen(record)],
            "notes": list(notes(found)),
        }
    )


def _verdict(found: Verification) -> str:
    if found.estimate is None:
        return "nothing to agree with"
    return "agrees with the estimate" if found.ok else "does not agree with the estimate"


def _term(term: Term) -> dict[str, object]:
    low, best, high = term.estimate or (None, None, None)
    return {
        "term": term.term,
        "phase": term.phase,
        "estimate_bytes": best,
        "low_bytes": low,
        "high_bytes": high,
        "measured_bytes": term.measured_bytes,
        "tolerance_bytes": term.tolerance_bytes,
        "ok": term.ok,
    }


def _row(term: Term) -> tuple[str, ...]:
    if term.estimate is None:
        return term.term, term.phase, "", format_size(term.measured_bytes), "", "", ""
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
