"""Attention over a cache, with and without flash attention.

Source: llama.cpp b11434 src/llama-graph.cpp, build_qkv, build_attn, build_attn_mha; src/models/deepseek2.cpp.
"""

from typing import NamedTuple

from kvplan.core.mixers.mla import Mla
from kvplan.engines.llamacpp.graphs.builder import Builder, Inputs
from kvplan.engines.llamacpp.graphs.nodes import Node


class Heads(NamedTuple):
    """Sizes of attention over the cache ``kind``. ``decompressed`` is the width of a head's value behind a latent, 0 without one."""

    kind: str
    n_heads: int
    n_kv_heads: int
    k_dim: int
    v_dim: int
    decompressed: int = 0


def attention(b: Builder, x: Node, names: frozenset[str], heads: Heads, *, shared: bool) -> Node:
    """Queries, keys and values of ``x``, rotated, stored unless ``shared`` with an earlier layer, and attended to."""
    q, k, v = _projected(b, x, names, heads, shared=shared)
    if "attn_q_norm" in names:
        q = b.norm(q)
    q = b.rotated(q)
    if k is not None:
        if "attn_k_norm" in names:
            k = b.norm(k)
        k = b.rotated(k)
    return attended(b, q, k, v, heads)


def _projected(b: Builder, x: Node, names: frozenset[str], heads: Heads, *, shared: bool) -> tuple[Node, Node | None, Node | None]:
    view, n = b.graph.view, b.plan.n_tokens
    n_q, n_k, n_v = heads.n_heads * heads.k_dim, heads.n_kv_heads * heads.k_dim, heads.n_kv_heads * heads.v_dim
    if "attn_qkv" in names:
        qkv = b.linear(x, n_q + n_k + n_v, biased="attn_qkv.bias" in names)
        q = view(qkv, heads.k_dim, heads.n_heads, n, whole=False)
        k = view(qkv, heads.k_dim, heads.n_kv_heads, n, shift=n_q, whole=False)
        return q, k, view(qkv, heads.v_dim, heads.n_kv_heads, n, shift=n_q + n_k, whole=False)
    q = view(b.linear(x, n_q, biased="attn_q.bias" in names), heads.k_dim, heads.n_heads, n)
    if shared:
        return q, None, None
    k = view(b.linear(x, n_k, biased="attn_k.bias" in names), heads.k_dim, heads.n_kv_heads, n)
    values = b.linear(x, n_v, biased="attn_v.bias" in names)
    return q, k, view(values, heads.v_dim, heads.n_kv_heads, n)


def attended(b: Builder, q: Node, k: Node | None, v: Node | None, heads: Heads) -> Node:
    """What the queries find in the cache, in which keys and values are stored before."""
    given = b.inputs(heads.kind, heads.k_dim)
    q = b.spun(q, given.k_rotation)
    k = b.spun(k, given.k_rotation) if k is not None else None
    v = b.spun(v, given.v_rotation) if v is not None else None
    for node in (q, v, k):
        if node is not None:
            b.graph.expand(node)
    _store(b, k, v, given, heads)
    found = _fused(b, q, given, heads) if b.plan.flash_attn else _plain(b, q, given, heads)
    b.graph.expand(found)
    return b.spun(found, given.v_rotation)


def _store(b: Builder, k: Node | None, v: Node | None, given: Inputs, heads: Heads) -> None:
    """Rows of the cache; without flash attention values are stored element by element, transposed."""
    view, n = b.graph.view, b.plan.n_tokens
    if k is not None:
        b.graph.store(view(k, heads.k_dim * heads.n_kv_heads, n), given.k_index, device=b.cache_device)
    if v is not None:
        rows = view(v, heads.v_dim * heads.n_kv_heads, n)
        flat = rows if b.plan.flash_attn else view(rows, 1, heads.v_dim * heads.n_kv_heads * n)
        b.graph.store(flat, given.v_index, device=b.cache_device)


def _fused(b: Builder, q: Node, given: Inputs, heads: Heads) -> Node:
    """One operation; keys and values kept in float32 are copied to 16 bits for it."""
    graph, n, at = b.graph, b.plan.n_tokens, b.cache_device
    seen = graph.view(graph.view(q, *q.dims), heads.k_dim, n, heads.n_heads, whole=False)
    size = (given.cells, heads.n_kv_heads, given.streams)
    casts = [
        graph.op((width, *size), device=at, elem_bytes=2)
        for width, kind in ((heads.k_dim, b.plan.k_type), (heads.v_dim, b.plan.v_type))
        if kind == "f32"
    ]
    found = graph.op((heads.v_dim, heads.n_heads, n), seen, *casts, given.mask, device=at)
    if not heads.decompressed:
        return graph.view(found, heads.v_dim * heads.n_heads, n)
    turned = graph.view(found, heads.v_dim, n, heads.n_heads, whole=False)
    wide = graph.op((heads.decompressed, n, heads.n_heads), turned, device=b.device)
    flat = graph.op((heads.decompressed, heads.n_heads, n), graph.view(wide, heads.decompressed, heads.n_heads, n, whole=False))
    return graph.view(flat, heads.decompressed * heads.n_heads, n)


def _plain(b: Builder, q: Node, given: Inputs, heads: Heads) -> Node:
    """Scores of all heads over all cells, their softmax, and its product with the values."""
    graph, n, at = b.graph, b.plan.n_tokens, b.cache_device
    seen = graph.view(graph.view(q, *q.dims), heads.k_dim, n, heads.n_heads, whole=False)
    per_stream = n // given.streams
    scores = graph.op((given.cells, per_stream, heads.n_heads, given.streams), seen, device=at)
    scores = graph.over(scores, given.mask)
    found = graph.op((heads.v_dim, per_stream, heads.n_heads, given.streams), scores, device=at)
    width = heads.v_dim
    if heads.decompressed:
        width = heads.decompressed
        found = graph.op((width, per_stream, heads.n_heads, given.streams), found, device=b.device)
    turned = graph.view(found, width, heads.n_heads, n, whole=False)
    return graph.op((width * heads.n_heads, n), turned, device=at)


def latent(b: Builder, x: Node, names: frozenset[str], mixer: Mla, kind: str) -> Node:
    """Attention over one latent and one rotary key per token; queries are brought into the latent's space."""
    graph, n = b.graph, b.plan.n_tokens
    rank, rotary, nope = mixer.kv_lora_rank, mixer.rope_head_dim, mixer.nope_head_dim
    source = b.norm(b.linear(x, mixer.q_lora_rank or 0)) if "attn_q_a" in names else x
    q = b.linear(source, mixer.n_heads * (nope + rotary))
    q_rotary = b.rotated(graph.view(q, rotary, mixer.n_heads, n, shift=nope, whole=False))
    joint = b.linear(x, rank + rotary)
    k_rotary = b.rotated(graph.view(joint, rotary, 1, n, shift=rank, whole=False))
    compressed = b.norm(graph.view(joint, rank, n, whole=False))
    absorbed = graph.op((rank, n, mixer.n_heads), graph.view(q, nope, n, mixer.n_heads, whole=False), device=b.device)
    query = graph.op((rank + rotary, mixer.n_heads, n), graph.view(absorbed, rank, mixer.n_heads, n, whole=False), q_rotary)
    value = graph.view(compressed, rank, 1, n)
    key = graph.op((rank + rotary, 1, n), value, k_rotary)
    for node in (query, value, key):
        graph.expand(node)
    return attended(b, query, key, None, Heads(kind, mixer.n_heads, 1, rank + rotary, rank, mixer.v_head_dim))


def expanded(b: Builder, x: Node, heads: Heads, rank: int, rotary: int) -> Node:
    """The same with keys and values of every head in the cache, as old files of DeepSeek V2 have them."""
    graph, n, nope = b.graph, b.plan.n_tokens, heads.k_dim - rotary
    q = b.linear(x, heads.n_heads * heads.k_dim)
    joint = b.linear(x, rank + rotary)
    q_rotary = b.rotated(graph.view(q, rotary, heads.n_heads, n, shift=nope, whole=False))
    k_rotary = b.rotated(graph.view(joint, rotary, 1, n, shift=rank, whole=False))
    wide = b.linear(b.norm(graph.view(joint, rank, n, whole=False)), heads.n_heads * (nope + heads.v_dim))
    k_plain = graph.view(wide, nope, heads.n_heads, n, whole=False)
    value = graph.op((heads.v_dim, heads.n_heads, n), graph.view(wide, heads.v_dim, heads.n_heads, n, shift=nope, whole=False))
    query = graph.op((heads.k_dim, heads.n_heads, n), graph.view(q, nope, heads.n_heads, n, whole=False), q_rotary)
    key = graph.op((heads.k_dim, heads.n_heads, n), k_plain, graph.op((rotary, heads.n_heads, n), k_rotary))
    return attended(b, query, key, value, heads)
