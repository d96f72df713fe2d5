"""The cache of one layer as vLLM's planner sees it."""

from typing import Literal, NamedTuple

Kind = Literal["full", "sliding", "chunked", "mla", "state", "block_state", "cross"]


class Slot(NamedTuple):
    """The cache of one layer. Layers with equal slots can share a block table.

    ``shape`` is what must be equal besides: heads and their widths. ``window_tokens`` is the window or chunk, 0 for none;
    ``n_states`` are the blocks that one sequence's state takes. ``spread`` over context-parallel ranks, or whole on each.
    """

    kind: Kind
    block_tokens: int
    page_bytes: int
    shape: tuple[int | str, ...] = ()
    window_tokens: int = 0
    n_states: int = 0
    spread: bool = True
