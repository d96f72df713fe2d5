"""What one rank of a model moves and multiplies, from its layers."""

from typing import NamedTuple

from kvplan.core.dtypes import DTYPES
from kvplan.core.mixers import Mixer
from kvplan.core.model import ModelSpec, WeightGroup
from kvplan.core.roles import TOWERS
from kvplan.perf.values import Growth, Traffic

_APART = ("embedding", "lm_head", "next_token", "encoder", *TOWERS)  # an embedding looks up a row, the others stay out of a step
FLOAT16, FLOAT32 = 2, 4


class Shape(NamedTuple):
    """In what type the weights and the cache are, and over how many ranks each layer is split.

    ``dtype`` is the type of weights that name no other, ``linear`` that of linear layers which are quantized while they load;
    ``unpacks``: matrices of 4 bits are written out in 16 before more than one row is multiplied. ``key_bytes`` and ``value_bytes``
    are those of an element of the cache.
    """

    dtype: str
    key_bytes: float = 2.0
    value_bytes: float = 2.0
    act_bytes: float = 2.0
    tp: int = 1
    linear: str | None = None
    unpacks: bool = False


class _Held(NamedTuple):
    """Weights that a step reads: bytes, parameters, how many of these are stored in blocks, how many are written out in 16 bits."""

    n_bytes: float = 0.0
    n_params: int = 0
    n_packed: int = 0
    n_unpacked: int = 0


def traffic(model: ModelSpec, shape: Shape) -> Traffic:
    """What one of ``shape.tp`` ranks of ``model`` moves in a pass; embeddings that double as output rows are read, others not."""
    ways = shape.tp
    dense, experts = _layers(model, shape)
    head = _head(model, shape)
    visited = experts.n_params - model.idle().get("expert", 0)
    moe = [(ffn, run.n_layers) for run in model.runs for ffn in run.layer.ffns if ffn.kind == "moe"]
    return Traffic(
        n_layers=model.n_layers,
        dense_bytes=(dense.n_bytes + head.n_bytes) / ways,
        token_flops=2.0 * dense.n_params / ways,
        row_flops=2.0 * head.n_params / ways,
        growth=_growth(model, shape),
        hidden_bytes=model.hidden_size * shape.act_bytes,
        state_bytes=sum(run.n_layers * _state_elems(mixer) for run in model.runs for mixer in run.layer.mixers) * FLOAT32 / ways,
        expert_bytes=experts.n_bytes / ways,
        expert_flops=2.0 * visited / ways,
        n_experts=max((ffn.n_experts for ffn, _ in moe), default=0),
        n_active=max((ffn.n_active for ffn, _ in moe), default=0),
        n_moe_layers=sum(n for _, n in moe),
        dense_packed=(dense.n_packed + head.n_packed) / ways,
        expert_packed=experts.n_packed / ways,
        unpacked_bytes=2.0 * FLOAT16 * (dense.n_unpacked + experts.n_unpacked) / ways,
    )


def _layers(model: ModelSpec, shape: Shape) -> tuple[_Held, _Held]:
    """Dense weights and routed experts; scales belong to both by their size."""
    dense, experts, scales = _Held(), _Held(), 0
    for group in model.groups():
        if group.role == "scale":
            scales += group.run_bytes(shape.dtype)
        elif group.role == "expert":
            experts = _plus(experts, group, shape)
        elif group.role not in _APART:
            dense = _plus(dense, group, shape)
    factor = 1 + scales / max(1.0, dense.n_bytes + experts.n_bytes)
    return dense._replace(n_bytes=dense.n_bytes * factor), experts._replace(n_bytes=experts.n_bytes * factor)


def _head(model: ModelSpec, shape: Shape) -> _Held:
    """The output rows; without rows of their own those of the embedding."""
    found = _Held()
    for group in [group for group in model.weights if group.role == "lm_head"] or [g for g in model.weights if g.role == "embedding"][:1]:
        found = _plus(found, group._replace(tied_to=None), shape)
    return found


def run_dtype(group: WeightGroup, shape: Shape) -> str:
    """The type in which a group is read and multiplied."""
    made = shape.linear if group.is_linear else None
    return group.run_dtype or group.dtype or made or shape.dtype


def _plus(held: _Held, group: WeightGroup, shape: Shape) -> _Held:
    kind, n = DTYPES[run_dtype(group, shape)], group.n_params
    written_out = shape.unpacks and group.is_linear and kind.block_bytes < kind.block_elems
    return _Held(
        held.n_bytes + group._replace(run_dtype=kind.name).run_bytes(shape.dtype),
        held.n_params + n,
        held.n_packed + n * (kind.block_elems > 1),
        held.n_unpacked + n * written_out,
    )


def _growth(model: ModelSpec, shape: Shape) -> tuple[Growth, ...]:
    """Layers that see the same tokens, as one."""
    found: dict[tuple[int | None, float], Growth] = {}
    for run in model.runs:
        for mixer in run.layer.mixers:
            for one in _reads(mixer, shape):
                key = one.window_tokens, one.sharing
                so_far = found.get(key, Growth(0.0, 0.0, 0.0, one.sharing, one.window_tokens))
                found[key] = so_far._replace(
                    bytes_per_token=so_far.bytes_per_token + run.n_layers * one.bytes_per_token,
                    pair_flops=so_far.pair_flops + run.n_layers * one.pair_flops,
                    heads=so_far.heads + run.n_layers * one.heads,
                )
    return tuple(found.values())


def _reads(mixer: Mixer, shape: Shape) -> tuple[Growth, ...]:
    """What one layer's attention reads for each token seen; an indexer's pick is a window."""
    match mixer.kind:
        case "full" | "sliding" | "chunked":
            kv_heads = mixer.n_kv_heads / min(shape.tp, mixer.n_kv_heads)
            heads = mixer.n_heads / shape.tp
            n_bytes = kv_heads * (mixer.head_dim * shape.key_bytes + mixer.v_head_dim * shape.value_bytes)
            window = mixer.window_tokens if mixer.kind != "full" else mixer.indexer.top_k if mixer.indexer else None
            return (Growth(n_bytes, 2.0 * heads * (mixer.head_dim + mixer.v_head_dim), heads, max(1.0, heads / kv_heads), window),)
        case "mla":
            heads = mixer.n_heads / shape.tp
            flops = 2.0 * heads * (mixer.nope_head_dim + mixer.rope_head_dim + mixer.v_head_dim)
            picked = mixer.indexer.top_k if mixer.indexer else mixer.window_tokens
            return (Growth(mixer.elems_per_token * shape.key_bytes, flops, heads, 1.0, picked),)
        case "compressed":
            heads = mixer.n_heads / shape.tp
            plain = Growth(mixer.elems_per_token * shape.key_bytes, 4.0 * heads * mixer.head_dim, heads, 1.0, mixer.window_tokens)
            if not mixer.ratio:
                return (plain,)
            n_bytes, flops = plain.bytes_per_token / mixer.ratio, plain.pair_flops / mixer.ratio
            return (plain, Growth(n_bytes, flops, heads / mixer.ratio))
        case _:
            return ()


def _state_elems(mixer: Mixer) -> int:
    match mixer.kind:
        case "mamba1" | "mamba2" | "gated_delta" | "linear" | "rwkv" | "rg_lru":
            return mixer.state_elems
        case _:
            return 0
