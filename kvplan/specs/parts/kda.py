"""Kimi Delta Attention as weight groups: a gated delta network whose decay is per channel."""

from typing import NamedTuple

from kvplan.core.mixers import GatedDeltaNet
from kvplan.core.model import WeightGroup
from kvplan.specs.parts.blocks import Groups, linear, norm


class KdaStyle(NamedTuple):
    """How a family's delta attention differs from Kimi Linear's.

    The decay and the output gate come through a rank of head_dim, or directly where ``full_rank_decay`` and
    ``full_rank_gate`` say so. ``conv_dtype`` and ``decay_dtype`` are kept whatever the model's own type.
    """

    full_rank_decay: bool = False
    full_rank_gate: bool = False
    conv_dtype: str | None = None
    decay_dtype: str | None = None


def kda_weights(hidden: int, net: GatedDeltaNet, style: KdaStyle) -> Groups:
    """Weights of one block: q, k, v of equal width, their convolution, decay, write strength, output gate.

    Source: Kimi Linear, arXiv:2510.26692 §3; transformers 5.24 models/kimi_linear, KimiLinearDeltaAttention.
    """
    name, heads, width = "self_attn", net.n_v_heads, net.n_v_heads * net.v_head_dim
    inputs = (linear(f"{name}.{part}_proj", width, hidden, role="mixer", shard="column") for part in "qkv")
    return (
        *(group for groups in inputs for group in groups),
        WeightGroup(f"{name}.conv1d.weight", "mixer", net.conv_dim, net.conv_kernel, dtype=style.conv_dtype, shard="column"),
        *_gate(f"{name}.f", hidden, net, full_rank=style.full_rank_decay),
        WeightGroup(f"{name}.dt_bias", "mixer", width, dtype="float32", shard="column"),
        WeightGroup(f"{name}.A_log", "mixer", heads, dtype=style.decay_dtype, shard="column"),
        *linear(f"{name}.b_proj", heads, hidden, role="mixer", shard="column"),
        *_gate(f"{name}.g", hidden, net, full_rank=style.full_rank_gate),
        *norm(f"{name}.o_norm", net.v_head_dim),
        *linear(f"{name}.o_proj", hidden, width, role="mixer", shard="row"),
    )


def _gate(name: str, hidden: int, net: GatedDeltaNet, *, full_rank: bool) -> Groups:
    width = net.n_v_heads * net.v_head_dim
    if full_rank:
        return linear(f"{name}_proj", width, hidden, role="mixer", shard="column")
    return (
        *linear(f"{name}_a_proj", net.v_head_dim, hidden, role="mixer"),
        *linear(f"{name}_b_proj", width, net.v_head_dim, role="mixer", shard="column"),
    )


def square_net(n_heads: int, head_dim: int, conv_kernel: int) -> GatedDeltaNet:
    """Delta attention with as many, and as wide, heads for keys as for values."""
    return GatedDeltaNet(n_heads, n_heads, head_dim, head_dim, conv_kernel, per_channel=True)
