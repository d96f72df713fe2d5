"""Which device computes which node of a graph, and what is copied between them.

Source: ggml 0.26 src/ggml-backend.cpp, ggml_backend_sched_split_graph: its passes 1 to 5, and the copy of the graph that is
allocated in the end.
"""

from collections.abc import Iterable

from kvplan.engines.llamacpp.graphs.growing import Range
from kvplan.engines.llamacpp.graphs.memory import peaks
from kvplan.engines.llamacpp.graphs.nodes import HOST, SOMEWHERE, Graph, Node


def reserved(graph: Graph, n_copies: int, cells: Range) -> dict[int, int]:
    """Bytes by device that a graph takes whose nodes say where they must run. ``n_copies`` of every input are held where several
    devices work on several steps at once, else 1."""
    if all(node.device < 0 for node in graph.nodes):
        for node in graph.nodes:
            node.device = HOST
        return peaks(graph.nodes, graph.leaves, cells)
    _spread(graph.nodes)
    nodes, leaves = _with_copies(graph, n_copies)
    return peaks(nodes, leaves, cells)


def _spread(nodes: list[Node]) -> None:
    """Devices take what stands between their nodes: accelerators first, downwards, then upwards; the host the rest."""
    computed = [node for node in nodes if node.root is None]
    for accelerators_only in (True, False):
        for direction in (computed, reversed(computed)):
            _fill(direction, accelerators_only=accelerators_only)
    for node in nodes:
        if node.root is not None:
            node.device = node.root.device


def _fill(nodes: Iterable[Node], *, accelerators_only: bool) -> None:
    current = SOMEWHERE
    for node in nodes:
        if node.device != SOMEWHERE:
            current = SOMEWHERE if accelerators_only and node.device == HOST else node.device
        elif current != SOMEWHERE:
            node.device = current


def _with_copies(graph: Graph, n_copies: int) -> tuple[list[Node], list[Node]]:
    """The nodes in order, with what each stretch on one device copies from elsewhere in front of it."""
    copies: dict[tuple[int, int], Node] = {}
    ahead: list[Node] = []  # further copies, there from the beginning
    for leaf in graph.leaves if n_copies > 1 else ():
        ahead += [_copy(leaf, HOST, kept=True) for _ in range(n_copies - 1)]
        leaf.is_kept = True
    ordered: list[Node] = []
    for stretch in _stretches(graph.nodes):
        device = next(node.device for node in stretch if node.root is None)
        for node in stretch:
            for source in node.sources if node.root is None else ():
                if _home(source) == device or (id(source), device) in copies:
                    continue
                made = copies[id(source), device] = _copy(source, device, kept=n_copies > 1)
                if n_copies > 1:
                    ahead += [made, *(_copy(source, device, kept=True) for _ in range(n_copies - 1))]
                ordered += [_held(source), made]
        for node in stretch:
            if node.root is None:
                node.sources = tuple(copies.get((id(source), device), source) for source in node.sources)
        ordered += stretch
    return ordered, [*ahead, *graph.leaves]


def _stretches(nodes: list[Node]) -> Iterable[list[Node]]:
    """Consecutive nodes on one device; views belong to the stretch that they stand in."""
    stretch: list[Node] = []
    current = SOMEWHERE
    for node in nodes:
        if node.root is None and node.device != current:
            if current != SOMEWHERE:
                yield stretch
                stretch = []
            current = node.device
        stretch.append(node)
    yield stretch


def _home(node: Node) -> int:
    return node.root.device if node.root is not None else node.device


def _copy(node: Node, device: int, *, kept: bool) -> Node:
    made = Node((), ())
    made.dims, made.layout, made.n_bytes = node.dims, node.layout, node.n_bytes
    made.device = device
    made.is_kept = kept or node.is_kept
    return made


def _held(node: Node) -> Node:
    """Reads ``node`` and is nothing itself: keeps it until it is copied."""
    made = Node((), (node,))
    made.external = True
    return made
