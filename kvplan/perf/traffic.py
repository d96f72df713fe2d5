"""What one rank of a model moves and multiplies, from its layers."""

from typing import NamedTuple

from kvplan.core.mixers import Mixer
from kvplan.core.model import Layer, ModelSpec
from kvplan.core.roles import TOWERS
from kvplan.perf.values import Growth, Traffic

_APART = ("embedding", "next_token", *TOWERS)  # an embedding looks up a row, the others stay out of a step


class Shape(NamedTuple):
    """In what type the weights and the cache are, and over how many ranks each layer is split.

    ``dtype`` is the type of weights that name no other. ``key_bytes`` and ``value_bytes`` are those of an element of the cache.
    ``kv_ways`` are the ranks that divide the cache's heads.
    """

    dtype: str
    key_bytes: float = 2.0
    value_bytes: float = 2.0
    act_bytes: float = 2.0
    tp: int = 1


def traffic(model: ModelSpec, shape: Shape) -> Traffic:
    """What one of ``shape.tp`` ranks of ``model`` moves in a pass; embeddings that double as output rows are read, others not."""
    dense, experts, flops, active = _weights(model, shape)
    head = _head(model, shape)
    moe = [(ffn, run.n_layers) for run in model.runs for ffn in run.layer.ffns if ffn.kind == "moe"]
    return Traffic(
        n_layers=model.n_layers,
        dense_bytes=(dense + head[0]) / shape.tp,
        token_flops=2.0 * (flops + active) / shape.tp,
        row_flops=2.0 * head[1] / shape.tp,
        growth=_growth(model, shape),
        hidden_bytes=model.hidden_size * shape.act_bytes,
        state_bytes=sum(run.n_layers * _state_elems(mixer) for run in model.runs for mixer in run.layer.mixers) * 4.0 / shape.tp,
        expert_bytes=experts / shape.tp,
        n_experts=max((ffn.n_experts for ffn, _ in moe), default=0),
        n_active=max((ffn.n_active for ffn, _ in moe), default=0),
        n_moe_layers=sum(n for _, n in moe),
    )


def _weights(model: ModelSpec, shape: Shape) -> tuple[float, float, float, float]:
    """Bytes of dense weights and of experts, parameters of the former, and of the latter those that a token visits."""
    held = {"dense": 0.0, "expert": 0.0, "scale": 0.0}
    params = {"dense": 0, "expert": 0}
    for group in model.groups():
        if group.role in _APART or group.role == "lm_head":
            continue
        kind = group.role if group.role in ("expert", "scale") else "dense"
        held[kind] += group.run_bytes(shape.dtype)
        if kind != "scale":
            params[kind] += group.n_params
    scale = 1 + held["scale"] / max(1.0, held["dense"] + held["expert"])
    active = params["expert"] - model.idle().get("expert", 0)
    return held["dense"] * scale, held["expert"] * scale, params["dense"], active


def _head(model: ModelSpec, shape: Shape) -> tuple[float, int]:
    """Bytes and elements of the output rows; without rows of their own those of the embedding."""
    rows = [group for group in model.weights if group.role == "lm_head"] or [g for g in model.weights if g.role == "embedding"][:1]
    plain = [group._replace(tied_to=None) for group in rows]
    return sum(group.run_bytes(shape.dtype) for group in plain), sum(group.n_params for group in plain)


def _growth(model: ModelSpec, shape: Shape) -> tuple[Growth, ...]:
    """Layers that see the same tokens, as one."""
    found: dict[int | None, list[float]] = {}
    for run in model.runs:
        for window, n_bytes, flops, heads in _reads(run.layer, shape):
            held = found.setdefault(window, [0.0, 0.0, 0.0])
            for i, amount in enumerate((n_bytes, flops, heads)):
                held[i] += run.n_layers * amount
    return tuple(Growth(n_bytes, flops, int(heads), window) for window, (n_bytes, flops, heads) in found.items())


def _reads(layer: Layer, shape: Shape) -> list[tuple[int | None, float, float, float]]:
    """(window, bytes, products, heads) for each token seen, of each thing that the layer's attention reads."""
    return [read for mixer in layer.mixers for read in _read(mixer, shape)]


def _read(mixer: Mixer, shape: Shape) -> list[tuple[int | None, float, float, float]]:
    match mixer.kind:
        case "full" | "sliding" | "chunked":
            ways = min(shape.tp, mixer.n_kv_heads)
            n_bytes = mixer.n_kv_heads * (mixer.head_dim * shape.key_bytes + mixer.v_head_dim * shape.value_bytes) / ways
            flops = 2.0 * mixer.n_heads * (mixer.head_dim + mixer.v_head_dim) / shape.tp
            window = (mixer.indexer.top_k if mixer.indexer else None) if mixer.kind == "full" else mixer.window_tokens
            return [(window, n_bytes, flops, mixer.n_heads / shape.tp)]
        case "mla":
            heads = mixer.n_heads / shape.tp
            picked = mixer.indexer.top_k if mixer.indexer else mixer.window_tokens
            flops = 2.0 * heads * (mixer.nope_head_dim + mixer.rope_head_dim + mixer.v_head_dim)
            return [(picked, mixer.elems_per_token * shape.key_bytes, flops, heads)]
        case "compressed":
            n_bytes, flops = mixer.elems_per_token * shape.key_bytes, 4.0 * mixer.n_heads * mixer.head_dim / shape.tp
            heads = mixer.n_heads / shape.tp
            older = [(None, n_bytes / mixer.ratio, flops / mixer.ratio, heads / mixer.ratio)] if mixer.ratio else []
            return [(mixer.window_tokens, n_bytes, flops, heads), *older]
        case _:
            return []


def _state_elems(mixer: Mixer) -> int:
    match mixer.kind:
        case "mamba1" | "mamba2" | "gated_delta" | "linear" | "rwkv" | "rg_lru":
            return mixer.state_elems
        case _:
            return 0
