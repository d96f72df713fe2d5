"""A family's order of tensors with a layer's own widths, ready to be replayed."""

from functools import lru_cache
from typing import NamedTuple

from kvplan.engines.transformers.plan import Kind, Plan
from kvplan.engines.transformers.widths import rate

SCALE = 64
"""Units per byte and token."""

MAKE, KEEP, DROP, DROP_INPUT, PASS = range(5)
"""What happens to a tensor: made, made to be cached, dropped, dropped as the output of the layer before, or made and dropped at once."""


class Order(NamedTuple):
    """One layer's tensors as (what happens, size or index): beside what was alive before, ``peak`` at most and ``left`` at its end."""

    steps: tuple[tuple[int, int], ...]
    peak: int
    left: int


def order(kind: Kind, plan: Plan) -> Order:
    """The form's words for such a layer; without any steps where it has none, or makes tensors that such a layer does not have."""
    return _order(words(kind, plan), tuple(kind.widths.items()), plan.elem_bytes, plan.hidden)


@lru_cache(maxsize=64)
def _order(text: str, widths: tuple[tuple[str, int], ...], elem_bytes: int, hidden: int) -> Order:
    """Found once for all GPUs that run such layers."""
    steps: list[tuple[int, int]] = []
    sizes: list[int] = []
    live = peak = 0
    for word in text.split():
        if word == "^":
            steps.append((DROP_INPUT, 0))
            live -= elem_bytes * hidden * SCALE
        elif word.startswith("-"):
            index = int(word[1:])
            if index == len(sizes) - 1 and steps[-1][0] == MAKE:
                steps[-1] = PASS, sizes[index]
            else:
                steps.append((DROP, index))
            live -= sizes[index]
        else:
            size = _size(word.lstrip("*"), dict(widths), elem_bytes)
            steps.append((KEEP if word.startswith("*") else MAKE, size))
            sizes.append(size)
            live += size
            peak = max(peak, live)
    return Order(tuple(steps) if all(sizes) else (), peak, live)


def words(kind: Kind, plan: Plan) -> str:
    """The form's words for such a layer."""
    return plan.form.moe_order if any(ffn.kind == "moe" for ffn in kind.layer.ffns) else plan.form.order


def _size(word: str, widths: dict[str, int], elem_bytes: int) -> int:
    letters, half, _ = word.partition("/2")
    return SCALE * rate(letters, widths, elem_bytes).token // (2 if half else 1)
