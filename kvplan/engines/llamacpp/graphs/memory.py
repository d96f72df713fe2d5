"""How much memory a graph takes while it runs: blocks handed out by best fit, and handed back once nobody reads them.

What was decided on the way is kept as a trail: one byte for the outcome of each comparison of sizes or offsets. See ``sampled``.

Source: ggml 0.26 src/ggml-alloc.c, ggml_dyn_tallocr_alloc, ggml_dyn_tallocr_free_bytes, ggml_gallocr_alloc_graph_impl.
"""

from collections.abc import Sequence

from kvplan.engines.llamacpp.graphs.nodes import Node

_ENDLESS = 1 << 60


class Arena:
    """One device's memory: ``free`` are [offset, size] in order, the last without an end. ``peak`` is what it grew to."""

    __slots__ = ("free", "peak", "trail")

    def __init__(self, trail: bytearray) -> None:
        """All free."""
        self.free = [[0, _ENDLESS]]
        self.peak = 0
        self.trail = trail

    def take(self, n_bytes: int) -> int:
        """The offset of ``n_bytes``, in the smallest hole that holds them, of equals the last, else at the end."""
        best, best_size, decide = len(self.free) - 1, _ENDLESS, self.trail.append
        for i in range(best):
            size = self.free[i][1]
            if n_bytes > size:
                decide(0)
            elif size > best_size:
                decide(1)
            else:
                decide(2)
                best, best_size = i, size
        block = self.free[best]
        offset = block[0]
        block[0] += n_bytes
        block[1] -= n_bytes
        decide(block[1] == 0)
        if not block[1]:
            del self.free[best]
        stop = offset + n_bytes
        decide(stop > self.peak)
        if stop > self.peak:
            self.peak = stop
        return offset

    def give(self, offset: int, n_bytes: int) -> None:
        """Back, merged with what is free beside it."""
        free, stop = self.free, offset + n_bytes
        at = 0
        while free[at][0] < offset:
            at += 1
        after = free[at]
        before = free[at - 1] if at else None
        joins_before, joins_after = before is not None and before[0] + before[1] == offset, after[0] == stop
        self.trail += bytes((at & 255, at >> 8, joins_before, joins_after))
        if before is not None and joins_before:
            before[1] += n_bytes
            if joins_after:
                before[1] += after[1]
                del free[at]
        elif joins_after:
            after[0] = offset
            after[1] += n_bytes
        else:
            free.insert(at, [offset, n_bytes])


def peaks(nodes: Sequence[Node], leaves: Sequence[Node]) -> tuple[dict[int, int], bytes]:
    """Bytes by device that computing ``nodes`` in order takes, and the trail; ``leaves`` are there from the beginning."""
    trail = bytearray()
    arenas: dict[int, Arena] = {}
    for leaf in leaves:
        _place(leaf, arenas, trail)
    for node in nodes:
        if node.root is not None:
            node.root.views += 1
        for source in node.sources:
            source.readers += 1
    for node in nodes:
        if node.root is None and not node.own and not node.external and not (node.in_place and _taken_over(node, trail)):
            _place(node, arenas, trail)
        for source in node.sources:
            source.readers -= 1
            if not source.readers and not source.views:
                _release(source, arenas)
    return {device: arena.peak for device, arena in arenas.items()}, bytes(trail)


def _place(node: Node, arenas: dict[int, Arena], trail: bytearray) -> None:
    arena = arenas.get(node.device)
    if arena is None:
        arena = arenas[node.device] = Arena(trail)
    node.own = True
    node.offset = arena.take(node.n_bytes)


def _taken_over(node: Node, trail: bytearray) -> bool:
    """Whether the node got the memory of a source; views are followed to what they look at, from its beginning on."""
    for source in node.sources:
        trail.append(_order(source.layout, node.layout))
        if source.layout != node.layout or source.readers != 1 or source.views:
            continue
        owner = source
        if source.root is not None:
            owner = source.root
            if owner.views != 1 or owner.readers or source.shift:
                continue
        trail.append(_order(owner.n_bytes, node.n_bytes))
        if owner.own and not owner.is_kept and owner.n_bytes == node.n_bytes:
            node.offset, node.device, node.own = owner.offset, owner.device, True
            owner.own = False
            return True
    return False


def _order(one: object, other: object) -> int:
    """Which of two layouts or sizes is the smaller: as long as that stays so, equal ones stay equal and different ones different."""
    if one == other:
        return 0
    if isinstance(one, tuple | int) and isinstance(other, type(one)):
        return 1 if one < other else 2  # type: ignore[operator]  # both are tuples or both are numbers
    return 3


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
