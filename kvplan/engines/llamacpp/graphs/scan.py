"""Selective state spaces: Mamba and Mamba-2, with their convolutions and states.

Source: llama.cpp b11434 src/models/mamba-base.cpp, build_mamba_layer and build_mamba2_layer; src/llama-graph.cpp, build_rs.
"""

from kvplan.core.mixers.mamba1 import Mamba1
from kvplan.core.mixers.mamba2 import Mamba2
from kvplan.engines.llamacpp.graphs.builder import Builder
from kvplan.engines.llamacpp.graphs.nodes import Node


def state_ids(b: Builder) -> tuple[Node, Node]:
    """Which states this step's sequences have, and which others are moved; views of one input."""
    if b.state_ids is None:
        given = b.graph.leaf(b.plan.n_seqs)
        b.state_ids = b.graph.view(given, b.plan.n_seqs), b.graph.view(given, 0, shift=1)
    return b.state_ids


def states(b: Builder, elems: int) -> Node:
    """This step's states, copied out of the cache."""
    mine, others = state_ids(b)
    found = b.graph.op((elems, b.plan.n_seqs), mine, device=b.cache_device)
    b.graph.expand(found)
    b.graph.store(b.graph.op((elems, 0), others, device=b.cache_device), device=b.cache_device)
    return found


def convolved(b: Builder, x: Node, channels: int, kernel: int, *, biased: bool) -> Node:
    """``x`` behind the inputs that the convolution still needs, whose last ones are stored, and convolved."""
    graph, plan = b.graph, b.plan
    each = plan.n_tokens // plan.n_seqs
    past = graph.view(states(b, (kernel - 1) * channels), kernel - 1, channels, plan.n_seqs)
    turned = graph.view(x, each, channels, plan.n_seqs, whole=False)
    rows = graph.op((kernel - 1 + each, channels, plan.n_seqs), past, turned)
    graph.store(graph.view(rows, kernel - 1, channels, plan.n_seqs, shift=1, whole=False), device=b.cache_device)
    made = graph.op((channels, plan.n_tokens), rows, device=b.device)
    return b.over(graph.over(made, device=b.device) if biased else made)


def mamba1(b: Builder, x: Node, names: frozenset[str], mixer: Mamba1) -> Node:
    """One selective state space of channels."""
    graph, n, inner = b.graph, b.plan.n_tokens, mixer.inner_dim
    both = b.linear(x, 2 * inner)
    gate = graph.view(both, inner, n, shift=inner, whole=False)
    source = graph.view(both, inner, n, whole=False)
    signal = convolved(b, source, inner, mixer.conv_kernel, biased="ssm_conv1d.bias" in names)
    joint = b.linear(signal, mixer.dt_rank + 2 * mixer.state_dim)
    steps = graph.view(joint, mixer.dt_rank, n, whole=False)
    into = graph.view(joint, mixer.state_dim, n, shift=mixer.dt_rank, whole=False)
    out = graph.view(joint, mixer.state_dim, n, shift=mixer.dt_rank + mixer.state_dim, whole=False)
    if "ssm_dt_norm" in names:
        steps, into, out = b.norm(steps), b.norm(into), b.norm(out)
    steps = graph.over(graph.op((inner, n), steps, device=b.device), device=b.device)
    scanned = _scanned(b, (graph.view(signal, 1, inner, n), steps, into, out), inner, mixer.state_elems)
    return _gated(b, x, scanned, graph.over(signal, device=b.device), gate, names)


def mamba2(b: Builder, x: Node, names: frozenset[str], mixer: Mamba2) -> Node:
    """Heads of a state space, whose inputs and outputs share groups."""
    graph, n, inner, channels = b.graph, b.plan.n_tokens, mixer.inner_dim, mixer.conv_dim
    joint = b.linear(x, inner + channels + mixer.n_heads)
    gate = graph.view(joint, inner, n, whole=False)
    source = graph.view(joint, channels, n, shift=inner, whole=False)
    steps = graph.view(joint, mixer.n_heads, n, shift=inner + channels, whole=False)
    mixed = convolved(b, source, channels, mixer.conv_kernel, biased="ssm_conv1d.bias" in names)
    signal = graph.view(mixed, inner, n, whole=False)
    into, out = (graph.view(mixed, 1, n, shift=shift, whole=False) for shift in (1, 2))
    steps = graph.over(graph.op((mixer.n_heads, n), steps), device=b.device)
    scanned = _scanned(b, (signal, steps, into, out), inner, mixer.state_elems)
    return _gated(b, x, scanned, graph.op((inner, n), signal, device=b.device), gate, names)


def _scanned(b: Builder, sources: tuple[Node, ...], inner: int, state_elems: int) -> Node:
    """The scan's outputs, which stand in front of the new states in one tensor; those are stored."""
    graph, plan = b.graph, b.plan
    mine, others = state_ids(b)
    found = graph.op((inner * plan.n_tokens + state_elems * plan.n_seqs,), *sources, mine, device=b.cache_device)
    graph.expand(found)
    graph.store(graph.op((state_elems, 0), others, device=b.cache_device), device=b.cache_device)
    graph.store(graph.view(found, state_elems * plan.n_seqs, shift=1), device=b.cache_device)
    return graph.view(found, inner, plan.n_tokens)


def _gated(b: Builder, x: Node, scanned: Node, direct: Node, gate: Node, names: frozenset[str]) -> Node:
    graph = b.graph
    found = graph.over(scanned, direct)
    found = graph.op(found.dims, graph.op(found.dims, gate), found)
    if "ssm_norm" in names:
        found = b.norm(graph.view(found, *found.dims))
    return b.linear(found, x.dims[0])
