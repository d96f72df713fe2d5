"""The steps that architectures are built of, as llama.cpp builds them.

Source: llama.cpp b11434 src/llama-graph.cpp; which operations write over their sources was measured on b11434: activations,
products with experts' weights, sums in front of no norm and softmax do; norms, their weights, rotations and other sums don't.
"""

from typing import NamedTuple

from kvplan.engines.llamacpp.graphs.nodes import F32, HOST, Graph, Node


class Plan(NamedTuple):
    """Sizes of the graph that is reserved: ``n_tokens`` of a step in ``n_seqs`` sequences, ``n_outputs`` of them with logits.

    ``pools`` are cells and streams of each kind of cache. ``k_type`` and ``v_type`` are ``plain``, ``quantized`` or ``f32``.
    ``v_elems`` is the width of a row of values in each kind of cache. ``per_layer`` are elements per token that are read for all
    layers at once, ``beside`` what stays beside the residual stream.
    """

    hidden: int
    n_tokens: int
    n_seqs: int
    n_outputs: int
    flash_attn: bool
    pools: dict[str, tuple[int, int]]
    k_type: str
    v_type: str
    v_elems: dict[str, int]
    per_layer: int = 0
    beside: int = 0


class Inputs(NamedTuple):
    """What attention over one cache is given."""

    mask: Node
    k_index: Node
    v_index: Node
    cells: int
    streams: int
    k_rotation: Node | None
    v_rotation: Node | None


class Builder:
    """A graph in the making. ``device`` is that of the weights of the layer at hand, ``cache_device`` of its cache."""

    def __init__(self, plan: Plan) -> None:
        """An empty graph for ``plan``."""
        self.plan, self.graph = plan, Graph()
        self.device = self.cache_device = self.experts_device = HOST
        self.positions = self.graph.leaf(plan.n_tokens)
        self.state_ids: tuple[Node, Node] | None = None
        self._inputs: dict[str, Inputs] = {}

    def inputs(self, kind: str, head_dim: int) -> Inputs:
        """Mask, indices and rotations of one cache, made when first asked for."""
        if kind not in self._inputs:
            plan, leaf = self.plan, self.graph.leaf
            cells, streams = plan.pools[kind]
            width = 1 if plan.flash_attn else plan.v_elems[kind]
            self._inputs[kind] = Inputs(
                mask=leaf(cells, plan.n_tokens, elem_bytes=2 if plan.flash_attn else F32),
                k_index=leaf(plan.n_tokens, elem_bytes=8),
                v_index=leaf(plan.n_tokens, width, elem_bytes=8),
                cells=cells,
                streams=streams,
                k_rotation=_square(self.graph, _power(head_dim)) if plan.k_type == "quantized" else None,
                v_rotation=_square(self.graph, _V_ROTATION) if plan.v_type == "quantized" else None,
            )
        return self._inputs[kind]

    def norm(self, node: Node, *, biased: bool = False) -> Node:
        """A norm, times its weights, plus its bias."""
        graph = self.graph
        made = graph.op(node.dims, graph.op(node.dims, node), device=self.device)
        made.is_normed = True
        return graph.over(made, device=self.device) if biased else made

    def linear(self, node: Node, width: int, *, biased: bool = False) -> Node:
        """A product with a matrix of this layer."""
        made = self.graph.op((width, *node.dims[1:]), node, device=self.device)
        return self.graph.over(made, device=self.device) if biased else made

    def over(self, node: Node, *more: Node) -> Node:
        """An activation, a scale, a product element by element."""
        return self.graph.over(node, *more)

    def sum(self, node: Node, other: Node) -> Node:
        """A sum, which writes over what comes out of a norm and over nothing else."""
        made = self.graph.op(node.dims, node, other)
        made.in_place = node.is_normed
        return made

    def rotated(self, node: Node) -> Node:
        """Rotary positions."""
        return self.graph.op(node.dims, node, self.positions)

    def spun(self, node: Node, rotation: Node | None) -> Node:
        """Through the Hadamard rotation that quantized caches want, where there is one."""
        if rotation is None:
            return node
        n = 1
        for size in node.dims:
            n *= size
        side = rotation.dims[0]
        rows = self.graph.view(node, side, n // side)
        return self.graph.view(self.graph.op(rows.dims, rotation, rows), *node.dims)


_V_ROTATION = 64


def _square(graph: Graph, side: int) -> Node:
    return graph.leaf(side, side)


def _power(width: int) -> int:
    """The largest power of two that divides a head, at least 64."""
    side = _V_ROTATION
    while width % (2 * side) == 0:
        side *= 2
    return side
