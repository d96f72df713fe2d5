"""A point of a sweep as plain values: what its JSON holds and its CSV's columns are."""

from collections.abc import Sequence
from functools import lru_cache

from kvplan.core.errors import RequestError
from kvplan.core.units import parse_count
from kvplan.estimator.options import Options
from kvplan.estimator.sweep import Axis
from kvplan.estimator.swept import Point

COUNTED = ("ctx", "batch", "prompt", "gpus", "tp", "pp", "dp", "ep")
_ALWAYS = ("model", "command", "engine", "gpu", "ctx", "batch", "prompt")
_SETTINGS = tuple(name for name in Options._fields if name not in _ALWAYS)
_NAMES = {"ctx": "ctx_tokens", "batch": "batch", "prompt": "prompt_tokens"}

Value = int | str | None


@lru_cache(maxsize=4096)
def value(option: str, said: str | None) -> Value:
    """What was said of ``option``: a number where numbers are counted and it is one."""
    if said is None or option not in COUNTED:
        return said
    try:
        return parse_count(said, option=option)
    except RequestError:
        return said


def of_axes(axes: tuple[Axis, ...]) -> list[dict[str, object]]:
    """The axes of a sweep's JSON."""
    return [{"option": axis.option, "values": [value(axis.option, said) for said in axis.values]} for axis in axes]


def at(axes: Sequence[Axis], said: tuple[str | None, ...]) -> dict[str, Value]:
    """The values of these axes by option."""
    return {axis.option: value(axis.option, word) for axis, word in zip(axes, said, strict=True)}


def settings(axes: tuple[Axis, ...], at: tuple[str | None, ...]) -> dict[str, Value]:
    """Every option that is neither who nor how much, as it was said."""
    said = dict(zip((axis.option for axis in axes), at, strict=True))
    return {name: value(name, said.get(name)) for name in _SETTINGS}


def who(axes: tuple[Axis, ...], point: Point) -> dict[str, Value]:
    """The choice that the point is for: model, engine, hardware, settings as they were said, workload."""
    said = dict(zip((axis.option for axis in axes), point.at, strict=True))
    about, load = point.about, point.load
    return {
        "model": about.model.id if about else said["model"],
        "engine": about.engine.name if about else said.get("engine"),
        "version": about.version if about else None,
        "gpu": about.node.id if about else said.get("gpu"),
        "n_devices": len(about.node.gpus) if about else None,
        **settings(axes, point.at),
        **{name: getattr(load, name) if load else value(option, said.get(option)) for option, name in _NAMES.items()},
    }


def what(point: Point) -> dict[str, Value]:
    """The bytes and the verdict."""
    needed = point.needed
    return {
        "needed_bytes": needed and needed.best,
        "needed_low_bytes": needed and needed.low,
        "needed_high_bytes": needed and needed.high,
        "headroom_bytes": point.headroom_bytes,
        "verdict": point.verdict,
        "beyond_limit": point.beyond_limit,
    }


def reason(point: Point) -> tuple[str, str] | None:
    """Why it is not answered, would not start, or should not be done: a word for it, and its text; None where nothing is wrong."""
    if point.error is not None:
        return point.error.kind, f"{point.error.message}; {point.error.hint}" if point.error.hint else point.error.message
    if point.refusals:
        return point.refusals[0].rule, point.refusals[0].text
    if point.beyond_limit and point.about is not None:
        return "KV201", f"{point.about.model.reach_tokens:,} positions are what {point.about.model.id} was made for"
    return next(((finding.rule, finding.message) for finding in point.warnings), None)
