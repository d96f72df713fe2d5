"""Other mixers with states: gated delta rules, short convolutions, RWKV's time mixing.

Source: llama.cpp b11434 src/models/delta-net-base.cpp, lfm2.cpp, rwkv6-base.cpp; sizes of RWKV's widest moment measured on b11434.
"""

from kvplan.core.mixers.gated_delta import GatedDeltaNet
from kvplan.core.mixers.rwkv import Rwkv
from kvplan.core.mixers.short_conv import ShortConv
from kvplan.engines.llamacpp.graphs.builder import Builder
from kvplan.engines.llamacpp.graphs.nodes import Node
from kvplan.engines.llamacpp.graphs.scan import convolved, states

_LERPS = 5  # inputs that RWKV mixes with the token before, all in one tensor


def gated_delta(b: Builder, x: Node, mixer: GatedDeltaNet) -> Node:
    """Queries, keys and values through a convolution, then a memory for each head of values."""
    graph, n = b.graph, b.plan.n_tokens
    inner, keys = mixer.n_v_heads * mixer.v_head_dim, mixer.n_k_heads * mixer.k_head_dim
    joint = b.linear(x, mixer.conv_dim)
    gate = b.linear(x, inner)
    decay = b.over(b.linear(x, mixer.n_v_heads * (mixer.k_head_dim if mixer.per_channel else 1)))
    share = b.over(b.linear(x, mixer.n_v_heads))
    mixed = convolved(b, joint, mixer.conv_dim, mixer.conv_kernel, biased=False)
    q = graph.op((keys, n), graph.view(mixed, keys, n, whole=False))
    k = graph.op((keys, n), graph.view(mixed, keys, n, shift=keys, whole=False))
    v = graph.view(mixed, inner, n, shift=2 * keys, whole=False)
    memory = states(b, mixer.state_elems)
    new = mixer.state_elems * b.plan.n_seqs
    found = graph.op((inner * n + new,), q, k, v, decay, share, memory, device=b.cache_device)
    graph.store(graph.view(found, new, shift=1), device=b.cache_device)
    made = b.norm(graph.view(found, inner, n))
    return b.linear(b.over(made, b.over(gate)), x.dims[0])


def short_conv(b: Builder, x: Node, mixer: ShortConv) -> Node:
    """A gated convolution of few taps."""
    graph, n, width = b.graph, b.plan.n_tokens, mixer.channels
    joint = b.linear(x, 3 * width)
    gate, other, signal = (graph.view(joint, width, n, shift=shift * width, whole=False) for shift in range(3))
    mixed = convolved(b, graph.op((width, n), gate, signal), width, mixer.conv_kernel, biased=False)
    return b.linear(b.over(mixed, other), x.dims[0])


def time_mixing(b: Builder, x: Node, mixer: Rwkv) -> Node:
    """Five mixtures of each token with the one before it, and a memory for each head."""
    graph, n, width = b.graph, b.plan.n_tokens, mixer.hidden_size
    memory = states(b, mixer.state_elems)
    before = graph.op((width, n), x, states(b, mixer.conv_elems))
    mixed = graph.op((_LERPS * width, n), graph.op((_LERPS * width, n), before, x), before, x)
    parts = [b.linear(graph.view(mixed, width, n, shift=i, whole=False), width) for i in range(_LERPS)]
    new = mixer.state_elems * b.plan.n_seqs
    found = graph.op((width * n + new,), *parts, memory, device=b.cache_device)
    graph.store(graph.view(found, new, shift=1), device=b.cache_device)
    return b.linear(b.norm(graph.view(found, width, n)), width)
