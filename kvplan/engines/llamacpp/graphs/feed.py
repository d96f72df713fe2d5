"""Feed-forwards: dense, and mixtures of experts.

Source: llama.cpp b11434 src/llama-graph.cpp, build_ffn and build_moe_ffn.
"""

from kvplan.core.model import DenseFfn, Layer, MoeFfn
from kvplan.engines.llamacpp.graphs.builder import Builder
from kvplan.engines.llamacpp.graphs.nodes import Node

_LATE_SOFTMAX = ("gpt-oss",)  # over the experts that were picked, instead of over all
_SQUARED = ("nemotron_h", "nemotron_h_moe", "arcee", "nemotron")  # ReLU, squared


def feed(b: Builder, x: Node, layer: Layer, names: frozenset[str], arch: str) -> Node:
    """All feed-forwards of a layer, summed."""
    found: Node | None = None
    for ffn in layer.ffns:
        made = mixture(b, x, ffn, names, arch) if ffn.kind == "moe" else dense(b, x, ffn, names, arch)
        found = made if found is None else b.sum(found, made)
    assert found is not None
    return found


def dense(b: Builder, x: Node, ffn: DenseFfn, names: frozenset[str], arch: str, suffix: str = "") -> Node:
    """Up, gate where there is one, an activation, and down."""
    graph = b.graph
    if f"ffn_gate{suffix}" in names:
        up = b.linear(x, ffn.intermediate, biased="ffn_up.bias" in names)
        gate = b.linear(x, ffn.intermediate, biased="ffn_gate.bias" in names)
        inner = graph.op(up.dims, gate, up)
    elif ffn.gated:
        both = b.linear(x, 2 * ffn.intermediate)
        inner = graph.op((ffn.intermediate, *both.dims[1:]), both)
    else:
        inner = b.over(b.linear(x, ffn.intermediate, biased="ffn_up.bias" in names))
        if arch in _SQUARED:
            inner = b.over(inner)
    return b.linear(inner, x.dims[0], biased="ffn_down.bias" in names)


def mixture(b: Builder, x: Node, ffn: MoeFfn, names: frozenset[str], arch: str) -> Node:
    """A router's pick of experts for each token, weighted and summed, and the shared experts beside them."""
    picked, weights = _routed(b, x, ffn, names, arch)
    found = _experts(b, x, ffn, names, picked, weights)
    if not ffn.shared_intermediate:
        return found
    shared = dense(b, x, DenseFfn(ffn.shared_intermediate), names, arch, "_shexp")
    if "ffn_gate_inp_shexp" in names:
        shared = b.over(shared, b.over(b.linear(x, 1)))
    return b.sum(found, shared)


def _routed(b: Builder, x: Node, ffn: MoeFfn, names: frozenset[str], arch: str) -> tuple[Node, Node]:
    graph, n = b.graph, x.dims[1]
    scores = b.linear(x, ffn.n_experts, biased="ffn_gate_inp.bias" in names)
    late = arch in _LATE_SOFTMAX
    shares = scores if late else b.over(scores)
    biased = "exp_probs_b.bias" in names or "exp_probs_b" in names
    ranked = graph.op((ffn.n_experts, n), graph.over(shares, device=b.device) if biased else shares)
    picked = graph.view(ranked, ffn.n_active, n, whole=False)
    weights = graph.op((1, ffn.n_active, n), graph.view(shares, 1, ffn.n_experts, n), picked)
    flat = graph.view(weights, ffn.n_active, n)
    flat = b.over(flat) if late else b.over(flat, b.over(graph.op((1, n), flat)))
    weights = graph.view(flat, 1, ffn.n_active, n)
    graph.expand(weights)
    return picked, weights


def _experts(b: Builder, x: Node, ffn: MoeFfn, names: frozenset[str], picked: Node, weights: Node) -> Node:
    graph, hidden, n, at = b.graph, x.dims[0], x.dims[1], b.experts_device
    row = graph.view(x, hidden, 1, n)
    wide = (ffn.intermediate, ffn.n_active, n)

    def product(dims: tuple[int, ...], source: Node, name: str) -> Node:
        made = graph.op(dims, source, picked, device=at)
        return graph.over(made, picked, device=at) if f"{name}.bias" in names else made

    if "ffn_gate_up_exps" in names:
        both = product((2 * ffn.intermediate, *wide[1:]), row, "ffn_gate_up_exps")
        gate = graph.view(both, *wide, whole=False)
        inner = graph.op(wide, gate, graph.view(both, *wide, shift=ffn.intermediate, whole=False))
    else:
        up = product(wide, row, "ffn_up_exps")
        inner = graph.op(wide, product(wide, row, "ffn_gate_exps"), up) if ffn.gated else b.over(b.over(up))
    found = b.over(product((hidden, *wide[1:]), inner, "ffn_down_exps"), weights)
    graph.expand(found)
    return _summed(b, found, ffn.n_active)


def _summed(b: Builder, found: Node, n_active: int) -> Node:
    graph, hidden, n = b.graph, found.dims[0], found.dims[2]
    rows = [graph.view(found, hidden, n, shift=i, whole=False) for i in range(n_active)]
    for row in rows:
        graph.expand(row)
    total = rows[0]
    for row in rows[1:]:
        total = graph.op((hidden, n), total, row) if total is rows[0] else b.over(total, row)
        graph.expand(total)
    return graph.op((hidden, n), total) if n_active == 1 else total
