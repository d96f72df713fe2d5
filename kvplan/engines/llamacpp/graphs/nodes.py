"""A graph of tensors in the order in which ggml computes them.

Source: ggml 0.26 src/ggml.c, ggml_build_forward_expand: sources are visited depth first, from left to right.
"""

from math import prod

F32 = 4
ALIGNMENT = 32  # ggml 0.26, TENSOR_ALIGNMENT: what every tensor's memory is a multiple of
SOMEWHERE, HOST = -2, -1
"""Devices of nodes: not said, and the host's; others are numbered from 0."""


class Node:
    """One tensor: ``dims`` elements of ``elem_bytes``, aligned, computed from ``sources``.

    A view has no memory of its own: its ``root`` is the tensor that it looks at. An ``external`` one is written into memory that
    outlives the graph (a cache). ``in_place``: it may take over the memory of a source of the same layout that nobody else reads.
    ``device`` is where it must run, for the sake of weights or caches. ``is_input`` are what a step is given.
    """

    # what most nodes are: set on the class, as a graph has hundreds of them
    root: "Node | None" = None
    device = SOMEWHERE
    external = in_place = is_input = is_kept = is_normed = seen = own = False
    readers = views = offset = shift = 0

    def __init__(self, dims: tuple[int, ...], sources: "tuple[Node, ...]", elem_bytes: int = F32) -> None:
        """A tensor with memory of its own, laid out row after row."""
        self.dims = dims
        self.n_bytes = -(-prod(dims, start=elem_bytes) // ALIGNMENT) * ALIGNMENT
        self.layout: tuple[int, ...] = (elem_bytes, *dims)
        self.sources = sources


class Graph:
    """Nodes in the order of computing, and what they are given."""

    def __init__(self) -> None:
        """Nothing yet."""
        self.nodes: list[Node] = []
        self.leaves: list[Node] = []

    def leaf(self, *dims: int, elem_bytes: int = F32) -> Node:
        """Something that a step is given: tokens, positions, a mask."""
        node = Node(dims, (), elem_bytes)
        node.is_input = True
        node.device = HOST
        return node

    def op(self, dims: tuple[int, ...], *sources: Node, device: int = SOMEWHERE, elem_bytes: int = F32) -> Node:
        """A tensor computed anew."""
        node = Node(dims, sources, elem_bytes)
        node.device = device
        return node

    def over(self, node: Node, *more: Node, device: int = SOMEWHERE) -> Node:
        """An operation that may write its result over ``node``."""
        made = self.op(node.dims, node, *more, device=device)
        made.in_place = True
        return made

    def view(self, node: Node, *dims: int, shift: int = 0, whole: bool = True) -> Node:
        """``node`` seen otherwise: ``whole`` as it lies, else a part or in another order of its sizes."""
        made = Node(dims, (node,))
        made.root = node.root or node
        made.shift = shift
        if not whole:
            made.layout = ()  # like no other
        return made

    def store(self, *sources: Node, device: int = SOMEWHERE) -> None:
        """Writes into memory that outlives the graph."""
        made = Node((), sources)
        made.external = True
        made.device = device
        self.expand(made)

    def expand(self, node: Node) -> None:
        """Appends what ``node`` needs and has not been appended, then itself."""
        if node.seen:
            return
        node.seen = True
        for source in node.sources:
            if not source.seen:
                self.expand(source)
        (self.leaves if node.is_input else self.nodes).append(node)
