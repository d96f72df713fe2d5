"""Hyper-connections: several residual streams, mixed before and after each block, as weight groups."""

from kvplan.core.model import WeightGroup
from kvplan.specs.parts.blocks import Groups


def hyper_connection(name: str, hidden: int, n_streams: int, *, mixes: bool, fn_dtype: str | None = "float32") -> Groups:
    """Weights of one connection around a block, of ``n_streams`` residual streams; base and scale are kept in float32.

    Each stream has a weight into the block and one out of it, and with ``mixes`` one to every stream.
    Source: Xie et al. 2026 (manifold-constrained hyper-connections); transformers 5.24 models/deepseek_v4, models/hy_v4.
    """
    rows, n_scales = (n_streams * (n_streams + 2), 3) if mixes else (2 * n_streams, 2)
    return (
        WeightGroup(f"{name}.fn", "other", rows, n_streams * hidden, dtype=fn_dtype),
        WeightGroup(f"{name}.base", "other", rows, dtype="float32"),
        WeightGroup(f"{name}.scale", "other", n_scales, dtype="float32"),
    )


def hyper_head(name: str, hidden: int, n_streams: int) -> Groups:
    """Weights that join the streams before the final norm, in float32."""
    return (
        WeightGroup(f"{name}.hc_fn", "other", n_streams, n_streams * hidden, dtype="float32"),
        WeightGroup(f"{name}.hc_base", "other", n_streams, dtype="float32"),
        WeightGroup(f"{name}.hc_scale", "other", 1, dtype="float32"),
    )
