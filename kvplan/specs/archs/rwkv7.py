"""RWKV-7: a matrix-valued state for each head, moved by a generalized delta rule; no key-value cache.

Source: flash-linear-attention 0.3 fla/models/rwkv7 and fla/layers/rwkv7.py; Peng et al. 2025, arXiv:2503.14456 §4.
"""

from kvplan.core.forms import ActivationForm
from kvplan.core.mixers import Rwkv
from kvplan.core.model import DenseFfn, Layer, ModelSpec
from kvplan.specs.config import Config
from kvplan.specs.parts.blocks import Groups, linear, norm
from kvplan.specs.parts.decoder import Style, assemble
from kvplan.specs.parts.state_space import per_channel

MODEL_TYPES = ("rwkv7",)

_FACTORS = ("x_r", "x_w", "x_k", "x_v", "x_a", "x_g", "k_k", "k_a", "r_k")


def build(cfg: Config) -> ModelSpec:
    """The first layer has one more norm before it, and makes the values that later layers mix into theirs.

    Raises ConfigError for layers of plain attention and for values that are wider than the model.
    """
    for key in ("attn", "value_dim"):
        if cfg.has(key) and cfg.data[key] != [cfg.integer("hidden_size")] * cfg.n_layers():
            raise cfg.error(key, "is not supported: expected equal layers of time mixing as wide as the model")
    hidden, head_dim = cfg.integer("hidden_size"), cfg.integer("head_dim", default=64)
    if hidden % head_dim:
        raise cfg.error("head_dim", f"expected a divisor of hidden_size = {hidden}, found {head_dim}")
    intermediate = cfg.integer("intermediate_size", default=int(hidden * cfg.number("hidden_ratio", default=4)))
    bias = cfg.flag("norm_bias", default=True)
    common: Groups = (
        *norm("attn_norm", hidden, bias=bias),
        *norm("ffn_norm", hidden, bias=bias),
        *_time_mixing(cfg, hidden),
        *per_channel("ffn", "x_k", rows=hidden),
        *linear("ffn.key", intermediate, hidden, role="mlp", shard="column"),
        *linear("ffn.value", hidden, intermediate, role="mlp", shard="row"),
    )
    layer = Layer((Rwkv(hidden, hidden // head_dim, head_dim),), (DenseFfn(intermediate, gated=False),), common)
    first = norm("pre_norm", hidden, bias=bias) if cfg.flag("norm_first", default=True) else ()
    later = layer._replace(weights=(*common, *_low_rank(cfg, "v", hidden)))
    layers = [layer._replace(weights=(*first, *common)), *[later] * (cfg.n_layers() - 1)]
    return assemble(cfg, layers, Style(norm_bias=bias), ActivationForm())


def _time_mixing(cfg: Config, hidden: int) -> Groups:
    """Mixing factors, four projections, low-rank decay, learning rate and gate, a norm of each head's output."""
    projections = (linear(f"attn.{part}_proj", hidden, hidden, role="mixer", shard="column") for part in ("r", "k", "v"))
    return (
        *per_channel("attn", *_FACTORS, rows=hidden),
        *(group for groups in projections for group in groups),
        *linear("attn.o_proj", hidden, hidden, role="mixer", shard="row"),
        *_low_rank(cfg, "decay", hidden),
        *_low_rank(cfg, "a", hidden),
        *_low_rank(cfg, "gate", hidden, bias=False),
        *norm("attn.g_norm", hidden, bias=True),
    )


def _low_rank(cfg: Config, part: str, hidden: int, *, bias: bool = True) -> Groups:
    """Down to ``{part}_low_rank_dim`` and up again; the bias is the second step's."""
    rank = cfg.integer(f"{part}_low_rank_dim")
    return (
        *linear(f"attn.{part}_lora.0", rank, hidden, role="mixer"),
        *linear(f"attn.{part}_lora.2", hidden, rank, role="mixer", shard="column", bias=bias),
    )
