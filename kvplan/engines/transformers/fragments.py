"""What PyTorch's caching allocator reserves for a prompt and can't hand out, by replaying a family's order of tensors.

In a long prompt every tensor is as many bytes per token as it is wide, whatever the prompt: the share of what is alive is one number
of a model, found once. Source: traces of the modeling code replayed through core/allocator.py, which this reproduces.
"""

from collections.abc import Mapping
from functools import lru_cache
from typing import NamedTuple
from zlib import crc32

from kvplan.core.model import Layer, ModelSpec
from kvplan.engines.transformers.holes import Holes, Place, Range
from kvplan.engines.transformers.order import DROP, DROP_INPUT, KEEP, MAKE, PASS, SCALE, Order, order, words
from kvplan.engines.transformers.plan import Kind, Plan, as_cached

SLACK = 5
STEPS = 2  # of decoding; what windows let go of aside, the later ones are like the second

BELOW, ABOVE = 10, 40
"""Thousandths that replays of whole traces were off by: they know what is made before the first layer."""

BELOW_IN_RANGE, ABOVE_IN_RANGE = 35, 50
"""The same with expandable segments."""

BELOW_OF_MIXTURES = 140
"""Mixtures of experts sort tokens in many small tensors, which an order leaves out."""

ABOVE_WINDOWS, OF_WINDOWS = 70, 3
"""With windows, whose masks and copies are alive at the peak and lie between the cache, at least a third of what there is without."""

Runs = tuple[tuple[Order, int], ...]
"""Layers in a row, and how many."""


class Fragments(NamedTuple):
    """Thousandths of what a prompt's peak holds that are reserved above it: over all prompts, of those that do not fill segments to the
    end the ``best``; ``beyond`` as many more of short ones, where a hole among the weights holds a layer's keys. ``n_segments`` are
    reserved. In bytes per token ``alive`` is the peak, ``widest`` the largest tensor and ``cached`` the smallest that is."""

    low: int
    best: int
    high: int
    beyond: int
    n_segments: int
    alive: int
    widest: int
    cached: int


def fragments(model: ModelSpec, plan: Plan, known: Mapping[int, tuple[int, ...]] = {}) -> Fragments | None:
    """None where nobody traced the family's order. ``known`` are what replays had by ``shape``."""
    found = known.get(shape(model, plan))
    raw = Fragments(*found) if found else replayed(model, plan)
    if raw is None:
        return None
    low = raw.low // OF_WINDOWS if any(rule.window is not None for rule in plan.rules) else raw.low
    if plan.settings.segments == "expandable":
        return raw._replace(low=low - BELOW_IN_RANGE, high=raw.high + ABOVE_IN_RANGE)
    below = BELOW_OF_MIXTURES if any(ffn.kind == "moe" for kind in plan.kinds for ffn in kind.layer.ffns) else BELOW
    return raw._replace(low=low - below, high=raw.high + (ABOVE if low == raw.low else ABOVE_WINDOWS))


def shape(model: ModelSpec, plan: Plan) -> int:
    """A number for all that a replay depends on: the order, each layer's widths, how many there are, and the allocator."""
    layers = [(words(kind := _kind(run.layer, model, plan), plan), *kind.widths.values(), run.n_layers) for run in model.runs]
    return crc32(repr((plan.settings.segments, plan.elem_bytes, plan.hidden, layers)).encode())


def replayed(model: ModelSpec, plan: Plan) -> Fragments | None:
    """What replays had, without a margin; None where nobody traced the family's order."""
    known = {id(kind): order(kind, plan) for kind in plan.kinds}
    runs = tuple([(known[id(_kind(run.layer, model, plan))], run.n_layers) for run in model.runs])
    if not all(layer.steps for layer, _ in runs):
        return None
    hidden = SCALE * plan.elem_bytes * plan.hidden
    return _in_range(runs, hidden) if plan.settings.segments == "expandable" else _in_segments(runs, hidden)


@lru_cache(maxsize=64)
def _in_segments(runs: Runs, hidden: int) -> Fragments:
    """Found once for GPUs of all kinds, because it takes milliseconds."""
    _, cached = _widths(runs)
    full, loose = _replayed(runs, hidden, Holes(0)), _replayed(runs, hidden, Holes(SLACK))
    holed = Holes(SLACK)
    holed.free(holed.malloc(cached))
    holed.reserved = 0
    found = _fragments(runs, hidden, (*full, *loose))
    others = [_permille(reserved, _alive(runs, hidden)) for reserved in _replayed(runs, hidden, holed)]
    return found._replace(low=min(found.low, *others), beyond=max(0, max(others) - found.high), n_segments=holed.n_segments)


@lru_cache(maxsize=64)
def _in_range(runs: Runs, hidden: int) -> Fragments:
    """The same with expandable segments."""
    return _fragments(runs, hidden, _replayed(runs, hidden, Range()))


def _fragments(runs: Runs, hidden: int, reserved: tuple[int, ...]) -> Fragments:
    """Of what was reserved in several replays."""
    alive, (widest, cached) = _alive(runs, hidden), _widths(runs)
    shares = [_permille(size, alive) for size in reserved]
    return Fragments(min(shares), shares[-1], max(shares), 0, 0, alive // SCALE, widest // SCALE, cached // SCALE)


def _permille(reserved: int, alive: int) -> int:
    return 1000 * reserved // alive - 1000


def _widths(runs: Runs) -> tuple[int, int]:
    """The largest tensor, and the smallest that is cached."""
    steps = [step for layer, _ in runs for step in layer.steps]
    return max(size for what, size in steps if what in (MAKE, KEEP, PASS)), min(size for what, size in steps if what == KEEP)


def _kind(layer: Layer, model: ModelSpec, plan: Plan) -> Kind:
    """What the plan made of a layer."""
    layer = as_cached(layer, model.form)
    return next(kind for kind in plan.kinds if (kind.layer.mixers, kind.layer.ffns) == (layer.mixers, layer.ffns))


def _alive(runs: Runs, hidden: int) -> int:
    """The peak: beside embeddings, which outlive the pass, and the input of a layer, which for the first one is the same."""
    live, most = 2 * hidden, 0
    for layer, n_layers in runs:
        most = max(most, live + layer.left * (n_layers - 1) + layer.peak)
        live += layer.left * n_layers
    return most


def _replayed(runs: Runs, hidden: int, holes: Holes) -> tuple[int, int]:
    """Bytes reserved by a prompt, and after the steps of decoding, in which caches grow."""
    holes.malloc(hidden)
    kept: list[tuple[int, Place]] = []
    output: Place | None = None
    for layer, n_layers in runs:
        for _ in range(n_layers):
            output = _run(layer, holes, output, kept)
    prompt = holes.reserved
    assert output is not None
    holes.free(output)
    for step in range(1, STEPS + 1):
        for i, (size, place) in enumerate(kept):
            grown = holes.malloc(size + step)
            holes.free(place)
            kept[i] = (size, grown)
    return prompt, holes.reserved


_NOWHERE = 0, 0


def _run(layer: Order, holes: Holes, output: Place | None, kept: list[tuple[int, Place]]) -> Place:
    """One layer: the place of its output."""
    malloc, free, holds = holes.malloc, holes.free, holes.holds  # looked up once: this is all of the time
    made: list[Place] = []
    for what, value in layer.steps:
        if what == DROP:
            free(made[value])
        elif what == PASS:
            made.append(_NOWHERE)
            if not holds(value):
                free(malloc(value))
        elif what == DROP_INPUT:
            if output is not None:
                free(output)
        else:
            made.append(malloc(value))
            if what == KEEP:
                kept.append((value, made[-1]))
    return made[-1]
