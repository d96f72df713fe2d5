"""What stands around an estimate: contexts and batches that fit, memory of other engines and caches, speed by sequences at once."""

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import NamedTuple

from kvplan.comparer import Side
from kvplan.core.errors import KvplanError
from kvplan.core.ledger import Interval, Verdict
from kvplan.estimator import Estimate, Options, answer
from kvplan.estimator.demand import ANY
from kvplan.estimator.subject import subject
from kvplan.estimator.sweep import Axis, Sweep, answered, axes, points
from kvplan.estimator.swept import Point
from kvplan.perf import Performance

_LEAST_CTX, _MOST_CTX, _MOST_BATCH = 1024, 131_072, 256
_CACHES: dict[str, tuple[str | None, ...]] = {"transformers": (None,), "vllm": (None, "fp8"), "llama.cpp": (None, "q8_0")}
"""Engines that the chart of memory shows, each with its usual cache and one in 8 bits."""
_OF_AN_ENGINE = ("attn", "cache", "forward", "usage", "engine", "kv_dtype", "calibration", "prompt", "command")


class Line(NamedTuple):
    """One engine's memory over the context, with one type of cache."""

    label: str
    found: Sweep


class Rung(NamedTuple):
    """So many sequences at once: what they need, and how fast that is."""

    concurrency: int
    needed: Interval
    verdict: Verdict
    performance: Performance | None


class Subject(NamedTuple):
    """An estimate and what stands around it."""

    label: str
    found: Estimate
    grid: Sweep | None
    lines: tuple[Line, ...]
    ladder: tuple[Rung, ...]


def surrounded(side: Side, *, probe: bool) -> Subject:
    """The answer to one request, with its charts. Raises KvplanError for a wrong request."""
    found = answer(side.options, probe=probe)
    scope = _scope(side.options, found, probe=probe)
    asked = side.options._replace(engine=f"{found.engine}@{found.version}")  # so that it says the same when there are newer ones
    lines = tuple(_lines(asked, found, scope, probe=probe))
    if not found.node.gpus:
        return Subject(side.label, found, None, lines, ())
    most = found.capacity.max_batch if found.capacity else None
    ladder = tuple(_ladder(asked, sorted({*scope.batches, *([most] if most else [])}), probe=probe))
    return Subject(side.label, found, _grid(asked, found, scope, probe=probe), lines, ladder)


class _Scope(NamedTuple):
    """The contexts and batches that are looked at."""

    contexts: tuple[int, ...]
    batches: tuple[int, ...]


def _scope(options: Options, found: Estimate, *, probe: bool) -> _Scope:
    """Powers of two up to what the command allows, else to the model's limit and what one card serves at once."""
    longest, most = _allowed(options, probe=probe) if len(options.command) > 1 else (None, None)
    load, limit = found.workload, found.model.max_ctx_tokens or _MOST_CTX
    longest = min(longest or limit, max(limit, load.ctx_tokens))
    return _Scope(_doubled(_LEAST_CTX, longest, load.ctx_tokens), _doubled(1, min(most or _MOST_BATCH, _MOST_BATCH), load.batch))


def _allowed(options: Options, *, probe: bool) -> tuple[int | None, int | None]:
    engine, version, parsed, model, _, node = subject(options, probe=probe)
    return engine.limits(engine.resolve(parsed, ANY, model, node, version))


def _doubled(least: int, most: int, asked: int) -> tuple[int, ...]:
    """Powers of two from ``least`` to ``most``, both ends and what was asked among them."""
    steps = {min(least, most), most, asked}
    while (least := 2 * least) < most:
        steps.add(least)
    return tuple(sorted(steps))


def _grid(options: Options, found: Estimate, scope: _Scope, *, probe: bool) -> Sweep | None:
    """Contexts by batches, up to the first batch with which none fits."""
    varied = _axes(options, ctx=scope.contexts, batch=scope.batches)
    try:
        seen = list(answered(points(varied, command=options.command, probe=probe)))
    except KvplanError:
        return None
    return _trimmed(Sweep(varied, tuple(seen)), found.workload.batch)


def _axes(options: Options, **several: tuple[int, ...]) -> tuple[Axis, ...]:
    said = {name: (value,) for name, value in options._asdict().items() if isinstance(value, str)}
    return axes({**said, **{name: tuple(map(str, values)) for name, values in several.items()}})


def _trimmed(whole: Sweep, asked: int) -> Sweep:
    """Without batches that are refused, and beyond the first with which no context fits, but with the one that was asked for."""
    kept: list[str] = []
    for batch, at in groupby(sorted(whole.points, key=_batch), key=_batch):
        row = list(at)
        if all(point.error is not None for point in row):
            continue
        kept.append(str(batch))
        if batch >= asked and not any(point.starts for point in row):
            break
    *others, last = whole.axes
    held = frozenset(kept)
    return Sweep((*others, Axis(last.option, tuple(kept))), tuple(point for point in whole.points if point.at[-1] in held))


def _batch(point: Point) -> int:
    return int(point.at[-1] or 1)


def _lines(options: Options, found: Estimate, scope: _Scope, *, probe: bool) -> Iterator[Line]:
    """Memory over the context at the batch that was asked for: this engine's, then that of others, with two types of cache each."""
    own = options._replace(batch=str(found.workload.batch), ctx=None)
    name = f"{found.engine} · {found.kv.k_dtype} cache"
    yield from _line(name, own, scope, probe=probe)
    model = options.model or subject(options, probe=probe).parsed.model
    others = {key: value for key, value in own._asdict().items() if key not in _OF_AN_ENGINE} | {"model": model}
    for engine, caches in _CACHES.items():
        for cache in caches:
            if engine != found.engine or (cache and cache not in found.kv.k_dtype):
                same = options.engine if engine == found.engine else engine
                other = Options(command=(), **others)._replace(engine=same, kv_dtype=cache)
                yield from _line(f"{engine} · {cache or 'usual'} cache", other, scope, probe=probe)


def _line(label: str, options: Options, scope: _Scope, *, probe: bool) -> Iterator[Line]:
    """The line, if this engine runs such a model."""
    varied = _axes(options, ctx=scope.contexts)
    try:
        seen = tuple(answered(points(varied, command=options.command, probe=probe)))
    except KvplanError:
        return
    if any(point.needed is not None for point in seen):
        yield Line(label, Sweep(varied, seen))


def _ladder(options: Options, batches: Sequence[int], *, probe: bool) -> Iterator[Rung]:
    """More and more at once, as long as they fit."""
    for batch in batches:
        try:
            found = answer(options._replace(batch=str(batch)), probe=probe, elsewhere=False)
        except KvplanError:
            return
        if found.verdict not in ("fits", "tight") or found.refusals:
            return
        yield Rung(batch, found.needed, found.verdict, found.performance)
