"""How much memory a graph takes while it runs: blocks handed out by best fit, and handed back once nobody reads them.

Sizes and offsets may be lines over the cells of a cache, and so only ``Range`` compares them. See ``growing``.

Source: ggml 0.26 src/ggml-alloc.c, ggml_dyn_tallocr_alloc, ggml_dyn_tallocr_free_bytes, ggml_gallocr_alloc_graph_impl.
"""

from collections.abc import Sequence

from kvplan.engines.llamacpp.graphs.growing import Range
from kvplan.engines.llamacpp.graphs.nodes import Node

_ENDLESS = 1 << 60


class Arena:
    """One device's memory: ``free`` are [offset, size] in order, the last without an end. ``peak`` is what it grew to."""

    __slots__ = ("free", "peak", "sign")

    def __init__(self, cells: Range) -> None:
        """All free."""
        self.free = [[0, _ENDLESS]]
        self.peak = 0
        self.sign = cells.sign

    def take(self, n_bytes: int) -> int:
        """The offset of ``n_bytes``, in the smallest hole that holds them, of equals the last, else at the end."""
        free, sign = self.free, self.sign
        end = best = len(free) - 1
        for i in range(end):
            size = free[i][1]
            if sign(size - n_bytes) >= 0 and (best == end or sign(size - free[best][1]) <= 0):
                best = i
        block = free[best]
        offset = block[0]
        block[0] += n_bytes
        if best != end:
            block[1] -= n_bytes
            if not sign(block[1]):
                del free[best]
        elif sign(block[0] - self.peak) > 0:
            self.peak = block[0]
        return offset

    def give(self, offset: int, n_bytes: int) -> None:
        """Back, merged with what is free beside it."""
        free, sign, stop = self.free, self.sign, offset + n_bytes
        at = 0
        while sign(free[at][0] - offset) < 0:
            at += 1
        after = free[at]
        joins_after = not sign(after[0] - stop)
        before = free[at - 1] if at else None
        if before is not None and not sign(before[0] + before[1] - offset):
            before[1] += n_bytes
            if joins_after:
                before[1] += after[1]
                del free[at]
        elif joins_after:
            after[0] = offset
            after[1] += n_bytes
        else:
            free.insert(at, [offset, n_bytes])


def peaks(nodes: Sequence[Node], leaves: Sequence[Node], cells: Range) -> dict[int, int]:
    """Bytes by device that computing ``nodes`` in order takes; ``leaves`` are there from the beginning."""
    arenas: dict[int, Arena] = {}
    for leaf in leaves:
        _place(leaf, arenas, cells)
    for node in nodes:
        if node.root is not None:
            node.root.views += 1
        for source in node.sources:
            source.readers += 1
    for node in nodes:
        if node.root is None and not node.own and not node.external and not (node.in_place and _taken_over(node, cells)):
            _place(node, arenas, cells)
        for source in node.sources:
            source.readers -= 1
            if not source.readers and not source.views:
                _release(source, arenas)
    return {device: arena.peak for device, arena in arenas.items()}


def _place(node: Node, arenas: dict[int, Arena], cells: Range) -> None:
    arena = arenas.get(node.device)
    if arena is None:
        arena = arenas[node.device] = Arena(cells)
    node.own = True
    node.offset = arena.take(node.n_bytes)


def _taken_over(node: Node, cells: Range) -> bool:
    """Whether the node got the memory of a source; views are followed to what they look at, from its beginning on."""
    for source in node.sources:
        if source.readers != 1 or source.views or not cells.equal(source.layout, node.layout):
            continue
        owner = source
        if source.root is not None:
            owner = source.root
            if owner.views != 1 or owner.readers or source.shift:
                continue
        if owner.own and not owner.is_kept and not cells.sign(owner.n_bytes - node.n_bytes):
            node.offset, node.device, node.own = owner.offset, owner.device, True
            owner.own = False
            return True
    return False


def _release(node: Node, arenas: dict[int, Arena]) -> None:
    owner = node
    if node.root is not None:
        owner = node.root
        owner.views -= 1
        if owner.views or owner.readers:
            return
    if owner.own and not owner.is_kept and owner.n_bytes:
        arenas[owner.device].give(owner.offset, owner.n_bytes)
        owner.own = False
