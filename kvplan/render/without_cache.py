"""The run without a cache beside the one with it: what the cache buys, and what it costs."""

from collections.abc import Iterator

from kvplan.core.units import format_size
from kvplan.render import timed
from kvplan.render.table import aligned
from kvplan.verifier.observed import peak
from kvplan.verifier.record import Record
from kvplan.verifier.verification import Verification

_HEAD = ("", "decode tokens/s", "per token", "peak", "")


def as_json(found: Verification) -> dict[str, object] | None:
    """The key ``no_cache`` of ``kvplan verify``, None where it was not asked for.

    ``peak_bytes`` and ``cached_peak_bytes`` are the highest of both phases (live bytes, weights included), ``decode_factor`` how
    many times as many tokens a second the cache gives; None of what was not measured.
    """
    without = found.uncached
    if without is None:
        return None
    return {
        "outcome": without.outcome,
        "error": without.error,
        "timings": timed.as_json(without.timings),
        "peak_bytes": peak(without),
        "cached_peak_bytes": peak(found.record),
        "decode_factor": _factor(found.record, without),
    }


def lines(found: Verification) -> Iterator[str]:
    """A small table, and the factor."""
    without = found.uncached
    if without is None:
        return
    yield from aligned([_HEAD, _row("with a cache", found.record), _row("without", without)], left=frozenset({0, 4}))
    factor = _factor(found.record, without)
    if factor is not None:
        yield f"the cache makes decoding {factor:.1f} × as fast"


def _row(name: str, record: Record) -> tuple[str, ...]:
    timings, most = record.timings, peak(record)
    rate = timings.decode_tokens_per_s if timings else None
    return (
        name,
        "-" if rate is None else f"{rate:,.1f}",
        "-" if timings is None or timings.tpot_s is None else timed.seconds(timings.tpot_s.p50),
        "-" if most is None else format_size(most),
        "" if record.outcome == "ran" else record.outcome,
    )


def _factor(cached: Record, uncached: Record) -> float | None:
    rates = [record.timings.decode_tokens_per_s if record.timings else None for record in (cached, uncached)]
    return rates[0] / rates[1] if rates[0] is not None and rates[1] is not None else None
