"""The batch from which on tokens per second stop rising, as a table and as JSON."""

from collections.abc import Iterator

from kvplan.core.units import format_size
from kvplan.estimator.knee import WORTH, Knee
from kvplan.estimator.sweep import Axis
from kvplan.render import points
from kvplan.render.columns import choices


def lines(axes: tuple[Axis, ...], found: tuple[Knee, ...]) -> Iterator[str]:
    """A row for each choice of all but the batch: where the knee is, and what the next batch would have brought and taken."""
    if not found:
        return
    rows = [(knee.at, _cells(knee)) for knee in found]
    yield from choices(axes[:-1], ("knee at batch", "tokens/s", "the next one"), rows, words_last=True)
    yield f"knee: from there on a doubled batch brings less than {WORTH:g} × the tokens/s"


def _cells(knee: Knee) -> tuple[str, str, str]:
    last, after = knee.last, knee.after
    if after is None:
        return "none", f"{last.tokens_per_s:,.0f}", f"still rising at {last.batch:,}"
    more = f"{after.tokens_per_s / last.tokens_per_s - 1:+.0%} tokens/s"
    return (
        f"{last.batch:,}",
        f"{last.tokens_per_s:,.0f}",
        f"{after.batch:,}: {more}, {format_size(after.needed_bytes - last.needed_bytes)} more",
    )


def as_json(axes: tuple[Axis, ...], found: tuple[Knee, ...]) -> list[dict[str, object]]:
    """The key ``knees`` of a sweep; ``after`` is null where the rate still rises at the largest batch, ``last``."""
    return [
        {
            "at": points.at(axes[:-1], knee.at),
            "last": knee.last._asdict(),
            "after": knee.after and knee.after._asdict(),
        }
        for knee in found
    ]
