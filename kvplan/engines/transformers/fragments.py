"""What PyTorch's caching allocator reserves for a prompt and can't hand out, by replaying a family's order of tensors.

In a long prompt every tensor is as many bytes per token as it is wide, whatever the prompt: the share of what is alive is one number
of a model, found once. Source: traces of the modeling code replayed through core/allocator.py, which this reproduces.
"""

from functools import lru_cache
from typing import NamedTuple

from kvplan.core.model import Layer, ModelSpec
from kvplan.engines.transformers.holes import Holes, Place
from kvplan.engines.transformers.plan import Kind, Plan, as_cached
from kvplan.engines.transformers.widths import rate

SCALE = 4096
"""Units per byte and token. Segments are rounded up by a few units, or not at all where a prompt fills them."""

SLACK = 5
STEPS = 2  # of decoding; what windows let go of aside, the later ones are like the second

BELOW, ABOVE = 10, 40
"""Thousandths that replays of whole traces were off by: they know what is made before the first layer."""

BELOW_OF_MIXTURES = 140
"""Mixtures of experts sort tokens in many small tensors, which an order leaves out."""

ABOVE_WINDOWS, OF_WINDOWS = 70, 3
"""With windows, whose masks and copies are alive at the peak and lie between the cache, at least a third of what there is without."""

MAKE, KEEP, DROP, DROP_INPUT = range(4)
"""What happens to a tensor: made, made to be cached, dropped, or dropped as the output of the layer before."""


class Order(NamedTuple):
    """One layer's tensors as (what happens, size or index): beside what was alive before, ``peak`` at most and ``left`` at its end."""

    steps: tuple[tuple[int, int], ...]
    peak: int
    left: int


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


def fragments(model: ModelSpec, plan: Plan) -> Fragments | None:
    """None where nobody traced the family's order."""
    known = {id(kind): order(kind, plan) for kind in plan.kinds}
    runs = tuple([(known[id(_kind(run.layer, model, plan))], run.n_layers) for run in model.runs])
    if not all(layer.steps for layer, _ in runs):
        return None
    found = _found(runs, SCALE * plan.elem_bytes * plan.hidden)
    below = BELOW_OF_MIXTURES if any(ffn.kind == "moe" for kind in plan.kinds for ffn in kind.layer.ffns) else BELOW
    if any(rule.window is not None for rule in plan.rules):
        return found._replace(low=found.low // OF_WINDOWS - below, high=found.high + ABOVE_WINDOWS)
    return found._replace(low=found.low - below, high=found.high + ABOVE)


@lru_cache(maxsize=64)
def _found(runs: Runs, hidden: int) -> Fragments:
    """What replays had, without a margin; found once for GPUs of all kinds, because it takes milliseconds."""
    alive, sizes = _alive(runs, hidden), [step for layer, _ in runs for step in layer.steps]
    cached = min(size for what, size in sizes if what == KEEP)
    full, loose, holed = _replayed(runs, hidden, 0), _replayed(runs, hidden, SLACK), _replayed(runs, hidden, SLACK, cached)
    shares = [1000 * reserved // alive - 1000 for reserved in (*full[:2], *loose[:2])]
    return Fragments(
        low=min(shares),
        best=shares[-1],
        high=max(shares),
        beyond=max(0, 1000 * max(holed[:2]) // alive - 1000 - max(shares)),
        n_segments=max(full[-1], loose[-1]),
        alive=alive // SCALE,
        widest=max(size for what, size in sizes if what in (MAKE, KEEP)) // SCALE,
        cached=cached // SCALE,
    )


def _kind(layer: Layer, model: ModelSpec, plan: Plan) -> Kind:
    """What the plan made of a layer."""
    layer = as_cached(layer, model.form)
    return next(kind for kind in plan.kinds if (kind.layer.mixers, kind.layer.ffns) == (layer.mixers, layer.ffns))


def order(kind: Kind, plan: Plan) -> Order:
    """The form's words for such a layer; without any steps where it has none, or makes tensors that such a layer does not have."""
    mixture = any(ffn.kind == "moe" for ffn in kind.layer.ffns)
    steps: list[tuple[int, int]] = []
    sizes: list[int] = []
    live = peak = 0
    for word in (plan.form.moe_order if mixture else plan.form.order).split():
        if word == "^":
            steps.append((DROP_INPUT, 0))
            live -= plan.elem_bytes * plan.hidden * SCALE
        elif word.startswith("-"):
            index = int(word[1:])
            steps.append((DROP, index))
            live -= sizes[index]
        else:
            size = _size(word.lstrip("*"), kind, plan)
            steps.append((KEEP if word.startswith("*") else MAKE, size))
            sizes.append(size)
            live += size
            peak = max(peak, live)
    return Order(tuple(steps) if all(sizes) else (), peak, live)


def _size(word: str, kind: Kind, plan: Plan) -> int:
    letters, half, _ = word.partition("/2")
    return SCALE * rate(letters, kind.widths, plan.elem_bytes).token // (2 if half else 1)


def _alive(runs: Runs, hidden: int) -> int:
    """The peak: beside embeddings, which outlive the pass, and the input of a layer, which for the first one is the same."""
    live, most = 2 * hidden, 0
    for layer, n_layers in runs:
        most = max(most, live + layer.left * (n_layers - 1) + layer.peak)
        live += layer.left * n_layers
    return most


def _replayed(runs: Runs, hidden: int, slack: int, hole: int = 0) -> tuple[int, int, int]:
    """Bytes reserved by a prompt, and after the steps of decoding, in which caches grow; the number of segments. A ``hole`` was there
    before."""
    holes = Holes(slack)
    if hole:
        holes.free(holes.malloc(hole))
        holes.reserved = 0
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
    return prompt, holes.reserved, holes.n_segments


def _run(layer: Order, holes: Holes, output: Place | None, kept: list[tuple[int, Place]]) -> Place:
    """One layer: the place of its output."""
    made: list[Place] = []
    for what, value in layer.steps:
        if what == DROP:
            holes.free(made[value])
        elif what != DROP_INPUT:
            made.append(holes.malloc(value))
            if what == KEEP:
                kept.append((value, made[-1]))
        elif output is not None:
            holes.free(output)
    return made[-1]
