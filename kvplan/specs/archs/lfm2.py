"""LFM2, LFM2-MoE and LFM3: gated short convolutions, with attention in some layers.

LFM3 slides in part of its attention layers, gates their heads and norms each block's output too.
Source: transformers 5.24 models/lfm2, models/lfm2_moe, models/lfm3; Liquid AI 2025, arXiv:2511.23404 §2.
"""

from kvplan.core.forms import ActivationForm
from kvplan.core.mixers import ShortConv
from kvplan.core.model import DenseFfn, ModelSpec, MoeFfn
from kvplan.specs.config import Config
from kvplan.specs.parts.attention import Heads, attention, full, read_heads, sliding
from kvplan.specs.parts.blocks import Groups, gated_mlp, linear, norm
from kvplan.specs.parts.decoder import Style, assemble, completed, rotary_dim
from kvplan.specs.parts.experts import MoeStyle, moe
from kvplan.specs.parts.forms import NORMED_ROTATION
from kvplan.specs.parts.hybrid import FeedForward, Mixing, mixed_layers, read_kinds
from kvplan.specs.parts.nested import amended
from kvplan.specs.parts.sparse import experts_per_token, first_dense
from kvplan.specs.parts.state_space import short_conv

MODEL_TYPES = ("lfm2", "lfm2_moe", "lfm3")

_BOTH: dict[str, object] = {"num_attention_heads": 32, "num_key_value_heads": 8, "max_position_embeddings": 128000}
_DEFAULTS: dict[str, dict[str, object]] = {
    "lfm2": {**_BOTH, "vocab_size": 65536, "hidden_size": 2560, "intermediate_size": 12288, "num_hidden_layers": 32, "conv_L_cache": 3},
    "lfm2_moe": {**_BOTH, "vocab_size": 65536, "hidden_size": 2048, "intermediate_size": 7168, "num_hidden_layers": 32, "conv_L_cache": 3},
    "lfm3": {
        **_BOTH,
        "vocab_size": 128000,
        "hidden_size": 2048,
        "intermediate_size": 7680,
        "num_hidden_layers": 24,
        "num_attention_heads": 16,
        "num_key_value_heads": 4,
        "head_dim": 128,
        "conv_L_cache": 7,
        "sliding_window": 256,
    },
}
_KINDS = ("conv", "full_attention", "sliding_attention")
_MOE = MoeStyle(name="feed_forward")


def build(cfg: Config) -> ModelSpec:
    """Embeddings are tied unless ``tie_embedding`` or ``tie_word_embeddings`` says no."""
    model_type = cfg.text("model_type")
    old_tie = {"tie_word_embeddings": cfg.data["tie_embedding"]} if cfg.names("tie_embedding") else {}
    cfg = amended(completed(cfg, _DEFAULTS[model_type]), **old_tie)
    hidden, third = cfg.integer("hidden_size"), model_type == "lfm3"
    heads = read_heads(cfg, hidden)
    kinds = read_kinds(cfg, _KINDS if third else _KINDS[:2], _lfm3_kinds(cfg) if third else _lfm2_kinds(cfg))
    ways = _mixings(cfg, hidden, heads, third=third)
    after = ("post_operator_norm", "post_ffn_norm") if third and cfg.flag("use_sandwich_norm", default=True) else ()
    norms = tuple(group for name in ("operator_norm", "ffn_norm", *after) for group in norm(name, hidden))
    feeds = _moe_feeds(cfg, hidden) if model_type == "lfm2_moe" else [_dense(hidden, _width(cfg, adjusted=not third))] * len(kinds)
    form = ActivationForm(
        rotary_dim=rotary_dim(cfg, heads.head_dim), rope_tables=2 if third else 1, attention=NORMED_ROTATION, checked=True
    )
    return assemble(cfg, mixed_layers([ways[kind] for kind in kinds], feeds, norms), Style(tied=True), form)


def _mixings(cfg: Config, hidden: int, heads: Heads, *, third: bool) -> dict[str, Mixing]:
    """The convolution and the attention of each kind; LFM3's attention may have biases and a gate per head."""
    conv = ShortConv(hidden, cfg.integer("conv_L_cache"))
    bias = third and cfg.flag("attention_bias", default=False)
    gate: Groups = ()
    if third and cfg.flag("use_attention_gate", default=True):
        gate = linear("self_attn.g_proj", heads.n_heads, hidden, role="attention", shard="column")
    weights = (*attention(hidden, heads, qkv_bias=bias, o_bias=bias, qk_norm="head"), *gate)
    window = cfg.optional_integer("sliding_window") if third else None
    return {
        "conv": Mixing((conv,), short_conv("conv", hidden, conv, bias=cfg.flag("conv_bias", default=False))),
        "full_attention": Mixing((full(heads),), weights),
        "sliding_attention": Mixing((sliding(heads, window) if window else full(heads),), weights),
    }


def _lfm2_kinds(cfg: Config) -> list[str]:
    """Attention in ``full_attn_idxs``, in all layers where that is not given (LFM2-MoE has no such default)."""
    if cfg.text("model_type") == "lfm2_moe" and not (cfg.has("layer_types") or cfg.has("full_attn_idxs")):
        raise cfg.error("layer_types", "missing: expected conv or full_attention for each layer")
    where = cfg.integers("full_attn_idxs", default=range(cfg.n_layers()))
    return ["full_attention" if i in where else "conv" for i in range(cfg.n_layers())]


def _lfm3_kinds(cfg: Config) -> list[str]:
    """Of each four layers the third attends to all and, but for the very first layer, the first to a window."""
    fours = ("sliding_attention", "conv", "full_attention", "conv")
    return ["conv" if i == 0 else fours[i % 4] for i in range(cfg.n_layers())]


def _width(cfg: Config, *, adjusted: bool) -> int:
    """The feed-forward's width; LFM2 takes two thirds of it, times a factor, rounded up to a multiple."""
    width = cfg.integer("block_ff_dim", "intermediate_size")
    if not adjusted or not cfg.flag("block_auto_adjust_ff_dim", default=True):
        return width
    width = int(2 * width / 3)
    if cfg.names("block_ffn_dim_multiplier") and not cfg.has("block_ffn_dim_multiplier"):
        return width
    multiple = cfg.integer("block_multiple_of", default=256)
    return -(-int(cfg.number("block_ffn_dim_multiplier", default=1.0) * width) // multiple) * multiple


def _dense(hidden: int, width: int) -> FeedForward:
    return FeedForward(DenseFfn(width), gated_mlp(hidden, width, name="feed_forward"))


def _moe_feeds(cfg: Config, hidden: int) -> list[FeedForward]:
    """``num_dense_layers`` dense layers, then mixtures, whose scores a buffer may shift."""
    n_experts = cfg.integer("num_experts", "num_local_experts", default=32)
    n_active = experts_per_token(cfg, "num_experts_per_tok", of=n_experts, default=4)
    dense, sparse = (
        DenseFfn(cfg.integer("intermediate_size")),
        MoeFfn(n_experts, n_active, cfg.integer("moe_intermediate_size", default=1792)),
    )
    style = _MOE._replace(correction="buffer" if cfg.flag("use_expert_bias", default=True) else None, correction_dtype="float32")
    feeds = {dense: _dense(hidden, dense.intermediate), sparse: FeedForward(sparse, moe(hidden, sparse, style))}
    return [feeds[ffn] for ffn in first_dense(cfg.n_layers(), cfg.integer("num_dense_layers", default=2, least=0), dense, sparse)]
