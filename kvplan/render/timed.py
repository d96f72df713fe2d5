"""Timings as text and JSON."""

from collections.abc import Iterator

from kvplan.verifier.timings import Spread, Timings


def as_json(timings: Timings | None) -> dict[str, object] | None:
    """The key ``timings`` of ``kvplan verify``: ``Timings`` with its names; None of what took no time, like a trace."""
    if timings is None:
        return None
    tpot = timings.tpot_s
    return {
        **timings._asdict(),
        "ttft_s": timings.ttft_s._asdict(),
        "tpot_s": tpot and tpot._asdict(),
        "tpot_by_decile_s": list(timings.tpot_by_decile_s),
    }


def lines(timings: Timings | None) -> Iterator[str]:
    """Time to first token, time per output token, rate, and how the time grows; nothing of a trace."""
    if timings is None:
        return
    passes = f"{timings.n_repeats} {'pass' if timings.n_repeats == 1 else 'passes'} after {timings.n_warmup}"
    yield f"time to first token: {_spread(timings.ttft_s)} · {passes}, made in {seconds(timings.build_s)}"
    if timings.tpot_s is None:
        return
    yield f"time per output token: {_spread(timings.tpot_s)} · {timings.n_steps} {'step' if timings.n_steps == 1 else 'steps'}"
    if len(timings.tpot_by_decile_s) > 1:
        yield f"from the first steps to the last: {' '.join(seconds(mean) for mean in timings.tpot_by_decile_s)}"
    rate, low, high = timings.decode_tokens_per_s, timings.decode_tokens_per_s_min, timings.decode_tokens_per_s_max
    yield f"decode: {rate:,.1f} tokens/s ({low:,.1f} – {high:,.1f})"


def _spread(spread: Spread) -> str:
    return f"{seconds(spread.p50)} (p95 {seconds(spread.p95)}, {seconds(spread.min)} – {seconds(spread.max)})"


def seconds(value: float) -> str:
    """A time in seconds or milliseconds."""
    return f"{value:.2f} s" if value >= 1 else f"{value * 1000:.1f} ms"
