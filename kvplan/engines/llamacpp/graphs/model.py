"""The graph of a model: its layers one after the other.

Source: llama.cpp b11434 src/models/.
"""

from collections.abc import Sequence
from typing import NamedTuple

from kvplan.core.mixers import Mixer
from kvplan.core.model import Layer
from kvplan.engines.llamacpp.graphs.attend import Heads, attention, expanded, latent
from kvplan.engines.llamacpp.graphs.builder import Builder, Plan
from kvplan.engines.llamacpp.graphs.delta import gated_delta, short_conv, time_mixing
from kvplan.engines.llamacpp.graphs.feed import feed
from kvplan.engines.llamacpp.graphs.nodes import HOST, SOMEWHERE, Graph, Node
from kvplan.engines.llamacpp.graphs.scan import mamba1, mamba2


class Stage(NamedTuple):
    """One layer: its tensors' names, and the devices of its weights, of its experts and of its cache."""

    layer: Layer
    names: frozenset[str]
    device: int = HOST
    experts_device: int = HOST
    cache_device: int = HOST


def graph_of(arch: str, plan: Plan, stages: Sequence[Stage], output_device: int, vocab: int) -> Graph:
    """A whole step; ``vocab`` 0 leaves out the logits."""
    b = Builder(plan)
    graph, hidden, n = b.graph, plan.hidden, plan.n_tokens
    outputs = graph.leaf(plan.n_outputs)
    x = graph.op((hidden, n), graph.leaf(n), device=HOST)
    x, rows = _given(b, x)
    if arch.startswith("gemma"):
        x = b.over(x)
    _beside(b, x, stages[0].device if stages else output_device)
    for stage in stages:
        b.device, b.experts_device, b.cache_device = stage.device, stage.experts_device, stage.cache_device
        x = _layer(b, x, stage, arch, outputs if stage is stages[-1] else None)
    b.device = output_device
    x.is_kept = True
    found = b.norm(x)
    graph.expand(b.linear(found, vocab) if vocab else found)
    graph.store(rows, device=HOST)
    return graph


def _given(b: Builder, x: Node) -> tuple[Node, Node]:
    """What the layers begin with, made of the tokens' embeddings, and rows that stay until the end.

    Embeddings may come in the place of tokens, so that there is room for them. How many such tensors there are, and which of
    them stay, was measured on b11434.
    """
    graph, hidden, n = b.graph, b.plan.hidden, b.plan.n_tokens
    embeddings, rows = graph.leaf(hidden, n), graph.leaf(hidden, n)
    embeddings.is_kept = True
    graph.expand(x)
    graph.expand(embeddings)
    x = graph.op((hidden, n), graph.op((hidden, n), x, device=HOST), embeddings, rows, graph.leaf(n), graph.leaf(n, elem_bytes=8))
    graph.expand(x)
    return x, rows


def _beside(b: Builder, x: Node, device: int) -> None:
    """What stays beside the residual stream through all layers: inputs of each layer, further streams."""
    graph, plan = b.graph, b.plan
    if not plan.beside:
        return
    read = graph.op((plan.per_layer, plan.n_tokens), x, device=HOST)
    kept = graph.op((plan.beside, plan.n_tokens), x if device == HOST else read, x, device=device)
    kept.is_kept = True
    graph.expand(kept)


def _layer(b: Builder, x: Node, stage: Stage, arch: str, outputs: Node | None) -> Node:
    """One layer; of the last one only ``outputs`` rows go on behind the attention."""
    layer, names = stage.layer, stage.names
    pre_normed = "attn_norm" in names
    feeds_normed = "ffn_norm" in names or (pre_normed and "post_attention_norm" in names)
    after = "post_attention_norm" in names and ("ffn_norm" in names or not pre_normed)
    normed = b.norm(x, biased="attn_norm.bias" in names) if pre_normed else x
    if not layer.mixers:
        made = feed(b, _rows(b, normed, outputs), layer, names, arch)
        return b.sum(made, _rows(b, x, outputs))
    mixed = _mixed(b, normed, stage, arch)
    if after:
        mixed = b.norm(mixed)
    mixed, kept = _rows(b, mixed, outputs), _rows(b, x, outputs)
    if not layer.ffns:
        return b.sum(mixed, kept)
    if not feeds_normed and not after:  # both halves read the same
        made = feed(b, _rows(b, normed, outputs), layer, names, arch)
        return b.sum(b.sum(made, kept), mixed)
    middle = b.sum(mixed, kept)
    source = b.norm(middle, biased="ffn_norm.bias" in names) if feeds_normed else middle
    made = feed(b, source, layer, names, arch)
    if "post_ffw_norm" in names:
        made = b.norm(made)
    return b.sum(made, middle)


def _rows(b: Builder, node: Node, outputs: Node | None) -> Node:
    return node if outputs is None else b.graph.op((node.dims[0], b.plan.n_outputs), node, outputs, device=SOMEWHERE)


def _mixed(b: Builder, x: Node, stage: Stage, arch: str) -> Node:
    """What the layer's mixers make of ``x``, summed where there are several."""
    found: Node | None = None
    for mixer in stage.layer.mixers:
        made = _mix(b, x, stage, mixer, arch)
        found = made if found is None else b.sum(found, made)
    assert found is not None
    return found


def _mix(b: Builder, x: Node, stage: Stage, mixer: Mixer, arch: str) -> Node:
    names = stage.names
    match mixer.kind:
        case "mla":
            return b.linear(latent(b, x, names, mixer, "swa" if mixer.window_tokens else "full"), x.dims[0])
        case "mamba1":
            return mamba1(b, x, names, mixer)
        case "mamba2":
            return mamba2(b, x, names, mixer)
        case "full" | "sliding" | "chunked":
            kind = "full" if mixer.kind == "full" or "swa" not in b.plan.pools else "swa"
            heads = Heads(kind, mixer.n_heads, mixer.n_kv_heads, mixer.head_dim, mixer.v_head_dim)
            if "attn_kv_b" in names:
                rows, _ = _latent_sizes(stage.layer)
                return b.linear(expanded(b, x, heads, *rows), x.dims[0])
            shared = stage.layer.kv_source is not None
            return b.linear(attention(b, x, names, heads, shared=shared), x.dims[0], biased="attn_output.bias" in names)
        case "gated_delta":
            return gated_delta(b, x, mixer)
        case "short_conv":
            return short_conv(b, x, mixer)
        case "rwkv":
            return time_mixing(b, x, mixer)
        case _:
            return b.linear(x, x.dims[0])


def _latent_sizes(layer: Layer) -> tuple[tuple[int, int], int]:
    """Rank and rotary width of a latent that is expanded before it is cached, by the weights."""
    joint = next(group for group in layer.weights if group.name.startswith("attn_kv_a_mqa"))
    wide = next(group for group in layer.weights if group.name.startswith("attn_kv_b"))
    return (wide.cols, joint.rows - wide.cols), joint.rows
