"""RecurrentGemma: two layers of gated linear recurrences, then one of windowed attention, and so on (Griffin).

Source: transformers 5.24 models/recurrent_gemma; De et al. 2024, arXiv:2402.19427 §2.
"""

from kvplan.core.forms import ActivationForm
from kvplan.core.mixers import RgLru
from kvplan.core.model import DenseFfn, Layer, ModelSpec
from kvplan.specs.config import Config
from kvplan.specs.parts.attention import attention, read_heads, sliding
from kvplan.specs.parts.blocks import Groups, copies, gated_mlp, linear, norm, periodic
from kvplan.specs.parts.decoder import Style, assemble, completed, rotary_dim
from kvplan.specs.parts.state_space import conv1d, per_channel

MODEL_TYPES = ("recurrent_gemma",)

_DEFAULTS: dict[str, object] = {
    "vocab_size": 256000,
    "hidden_size": 2560,
    "intermediate_size": 7680,
    "num_hidden_layers": 26,
    "num_attention_heads": 10,
}


def build(cfg: Config) -> ModelSpec:
    """``block_types`` is the repeated pattern; ``intermediate_size`` counts gate and up projections together."""
    cfg = completed(cfg, _DEFAULTS)
    hidden, intermediate = cfg.integer("hidden_size"), cfg.integer("intermediate_size") // 2
    heads = read_heads(cfg, hidden)
    bias = cfg.flag("attention_bias", default=False)
    both = (
        *norm("temporal_pre_norm", hidden),
        *norm("channel_pre_norm", hidden),
        *gated_mlp(hidden, intermediate, name="mlp_block", bias=True),
    )
    lru = RgLru(cfg.integer("lru_width", default=hidden), cfg.integer("conv1d_width", default=4))
    window = cfg.integer("attention_window_size", "sliding_window", default=2048)
    ffns = (DenseFfn(intermediate),)
    ways = {
        "recurrent": Layer((lru,), ffns, (*both, *_recurrent(cfg, hidden, lru, heads.n_heads))),
        "attention": Layer((sliding(heads, window),), ffns, (*both, *attention(hidden, heads, qkv_bias=bias, o_bias=True))),
    }
    pattern = cfg.texts("block_types", default=("recurrent", "recurrent", "attention"))
    if not pattern or set(pattern) - set(ways):
        raise cfg.error("block_types", f"expected a pattern of {' and '.join(ways)}, found {list(pattern)}")
    layers = [ways[kind] for kind in periodic(cfg.n_layers(), pattern)]
    return assemble(cfg, layers, Style(tied=True), ActivationForm(rotary_dim=rotary_dim(cfg, heads.head_dim, default=0.5)))


def _recurrent(cfg: Config, hidden: int, lru: RgLru, n_heads: int) -> Groups:
    """Two branches in, one with a convolution and the recurrence, whose two gates are block-diagonal: one block per head."""
    width, rest = divmod(lru.width, n_heads)
    if rest:
        raise cfg.error("lru_width", f"expected a multiple of the {n_heads} heads, found {lru.width}")
    gates = (
        group for gate in ("input_gate", "recurrent_gate") for group in linear(gate, width, width, role="mixer", shard="column", bias=True)
    )
    return (
        *linear("temporal_block.linear_y", lru.width, hidden, role="mixer", shard="column", bias=True),
        *linear("temporal_block.linear_x", lru.width, hidden, role="mixer", shard="column", bias=True),
        *conv1d("temporal_block.conv_1d", lru.width, lru.conv_kernel, bias=True),
        *per_channel("temporal_block.rg_lru", "recurrent_param", rows=lru.width),
        *copies(tuple(gates), n_heads),
        *linear("temporal_block.linear_out", hidden, lru.width, role="mixer", shard="row", bias=True),
    )
