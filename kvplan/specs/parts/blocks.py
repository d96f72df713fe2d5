"""The parts that families are built of, as weight groups. Names follow the checkpoints' tensors."""

from collections.abc import Iterable, Sequence
from itertools import groupby

from kvplan.core.model import Layer, LayerRun, Shard, WeightGroup
from kvplan.core.roles import Role

Groups = tuple[WeightGroup, ...]


def linear(name: str, rows: int, cols: int, *, role: Role, shard: Shard = "replicated", bias: bool = False) -> Groups:
    """A projection of ``cols`` inputs to ``rows`` outputs, with a bias when it has one.

    The bias follows a column split; under a row split it is whole on each rank.
    """
    weight = WeightGroup(f"{name}.weight", role, rows, cols, shard=shard)
    if not bias:
        return (weight,)
    return weight, WeightGroup(f"{name}.bias", role, rows, 1, shard="replicated" if shard == "row" else shard)


def vector(name: str, size: int, *, role: Role, dtype: str | None = None) -> Groups:
    """A free vector: a decay, a sink, a correction bias."""
    return (WeightGroup(name, role, size, 1, dtype=dtype),)


def buffer(name: str, rows: int, cols: int = 1, *, dtype: str | None = None) -> Groups:
    """Memory that is no parameter and that Transformers builds with the model: a mask, a table of positions."""
    return (WeightGroup(name, "scale", rows, cols, dtype=dtype),)


def norm(name: str, size: int, *, bias: bool = False) -> Groups:
    """A normalization's scale, and its shift when it has one."""
    scale = WeightGroup(f"{name}.weight", "norm", size)
    return (scale, WeightGroup(f"{name}.bias", "norm", size)) if bias else (scale,)


def copies(groups: Groups, n_copies: int) -> Groups:
    """``groups`` as they stand in each of ``n_copies`` experts, heads or tower layers."""
    return tuple(group._replace(n_copies=group.n_copies * n_copies) for group in groups)


def as_role(groups: Groups, role: Role) -> Groups:
    """``groups`` of a tower or an encoder."""
    return tuple(group._replace(role=role) for group in groups)


def gated_mlp(hidden: int, intermediate: int, *, name: str = "mlp", role: Role = "mlp", bias: bool = False) -> Groups:
    """Gate, up and down projections (SwiGLU). Source: Shazeer 2020, arXiv:2002.05202."""
    shard: Shard = "expert" if role == "expert" else "column"
    return (
        *linear(f"{name}.gate_proj", intermediate, hidden, role=role, shard=shard, bias=bias),
        *plain_mlp(hidden, intermediate, name=name, role=role, bias=bias),
    )


def plain_mlp(hidden: int, intermediate: int, *, name: str = "mlp", role: Role = "mlp", bias: bool = False) -> Groups:
    """Up and down projections around one activation."""
    up: Shard = "expert" if role == "expert" else "column"
    down: Shard = "expert" if role == "expert" else "row"
    return (
        *linear(f"{name}.up_proj", intermediate, hidden, role=role, shard=up, bias=bias),
        *linear(f"{name}.down_proj", hidden, intermediate, role=role, shard=down, bias=bias),
    )


def embedding(vocab: int, hidden: int, *, name: str = "embed_tokens") -> Groups:
    """Token embeddings."""
    return (WeightGroup(f"{name}.weight", "embedding", vocab, hidden, shard="vocab"),)


def lm_head(vocab: int, hidden: int, *, tied: bool, bias: bool = False, to: str = "embed_tokens") -> Groups:
    """The output projection; it shares the embeddings' memory when ``tied``."""
    weight = WeightGroup("lm_head.weight", "lm_head", vocab, hidden, shard="vocab", tied_to=f"{to}.weight" if tied else None)
    return (weight, WeightGroup("lm_head.bias", "lm_head", vocab, 1, shard="vocab")) if bias else (weight,)


def runs(layers: Iterable[Layer]) -> tuple[LayerRun, ...]:
    """Layers in order as runs of equal ones."""
    return tuple(LayerRun(sum(1 for _ in same), layer) for layer, same in groupby(layers))


def periodic(n_layers: int, pattern: Sequence[str]) -> tuple[str, ...]:
    """``pattern`` repeated over ``n_layers``."""
    return tuple(pattern[i % len(pattern)] for i in range(n_layers))
