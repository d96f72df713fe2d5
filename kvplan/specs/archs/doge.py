"""Doge: LLaMA's blocks with a learned mask, scaled residuals and, where the config asks, a cross-domain mixture of experts.

Source: transformers 5.24 models/doge.
"""

from math import isqrt

from kvplan.core.forms import ActivationForm
from kvplan.core.model import DenseFfn, Layer, LayerRun, ModelSpec, MoeFfn, WeightGroup
from kvplan.specs.config import Config
from kvplan.specs.parts.attention import Heads, read_heads
from kvplan.specs.parts.blocks import Groups, linear, vector
from kvplan.specs.parts.decoder import Style, completed, decoder, rotary_width
from kvplan.specs.parts.forms import NORMED_ROTATION

MODEL_TYPES = ("doge",)

_CLASS: dict[str, object] = {
    **{"vocab_size": 32768, "hidden_size": 1024, "intermediate_size": 2048, "num_hidden_layers": 32, "num_attention_heads": 8},
    **{"max_position_embeddings": 2048, "num_experts": 16384, "num_experts_per_tok": 64},
}


def build(cfg: Config) -> ModelSpec:
    """A ``sliding_window`` is every layer's; with ``is_moe`` each layer adds experts of one neuron to its feed-forward."""
    cfg = completed(cfg, _CLASS)
    bias = cfg.flag("attention_bias", default=False)
    window = cfg.optional_integer("sliding_window")
    style = Style(
        qkv_bias=bias,
        o_bias=bias,
        mlp_bias=cfg.flag("mlp_bias", default=False),
        qk_norm="head",
        window=window,
        kinds=("sliding_attention",) if window else ("full_attention",),
    )
    heads = read_heads(cfg, cfg.integer("hidden_size"))
    form = _form(cfg, heads)
    spec = decoder(cfg, style, form, extra=_own(cfg.integer("hidden_size"), heads, bias=bias))
    if not cfg.flag("is_moe", default=False):
        return spec
    return spec._replace(runs=tuple(LayerRun(run.n_layers, _with_experts(run.layer, cfg)) for run in spec.runs))


def _form(cfg: Config, heads: Heads) -> ActivationForm:
    """The learned mask is a bias of each KV head and pair of tokens, then repeated for each head; beyond ``keep_window_size`` tokens
    those not picked are masked too, which a prompt within them is spared. It is made of the values of all tokens, put in rows."""
    repeats, window = heads.n_kv_heads < heads.n_heads, cfg.integer("keep_window_size", default=2048)
    picks = cfg.integer("max_position_embeddings") > window
    held = "3H + Q + K + G"
    repeating = (f"{held} + GL + NL",) if repeats else (f"{held} + NL + L + bL",)
    picking = (f"{held} + 3GL + bGL + L + {window}iG",) if picks else ()
    return ActivationForm(
        rotary_dim=rotary_width(cfg),
        attention=(*NORMED_ROTATION, *repeating, *picking),
        attention_context="V",
        core="3H + Q + G + NL",
        masks_all=True,
        mask_heads=True,
        checked=repeats and not picks,
    )


def _own(hidden: int, heads: Heads, *, bias: bool) -> Groups:
    """What masks the attention dynamically, and scales both residuals."""
    kv = heads.n_kv_heads
    return (
        *vector("self_attn.A", kv, role="attention"),
        *linear("self_attn.dt_proj", kv, kv * heads.v_head_dim, role="attention", bias=bias),
        *vector("input_residual", hidden, role="other"),
        *vector("post_attention_residual", hidden, role="other"),
    )


def _with_experts(layer: Layer, cfg: Config) -> Layer:
    """``layer`` with a router over two sets of √n keys and ``num_experts`` pairs of one input and one output vector."""
    hidden, n_experts = cfg.integer("hidden_size"), cfg.integer("num_experts")
    n_active = cfg.integer("num_experts_per_tok", most=n_experts)
    (dense,) = layer.ffns
    assert isinstance(dense, DenseFfn)
    moe = MoeFfn(n_experts, n_active, 1, shared_intermediate=dense.intermediate, gated=False)
    experts = tuple(WeightGroup(f"mlp.{name}.weight", "expert", n_experts, hidden, shard="expert") for name in ("down_embed", "up_embed"))
    router = linear("mlp.router_gate", 2 * isqrt(n_experts), hidden, role="router")
    return layer._replace(ffns=(moe,), weights=(*layer.weights, *router, *experts))
