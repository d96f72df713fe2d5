"""Hunyuan-A13B and Hunyuan-Large: routed experts beside a shared feed-forward of the same width, q/k norms per head.

Hunyuan-Large (``hunyuan``) lets every second layer read the keys and values of the one before it.
Source: transformers 5.24 models/hunyuan_v1_moe; vLLM models/hunyuan_v1.py; Hunyuan-Large, arXiv:2411.02265 §2.1.
"""

from kvplan.core.forms import ActivationForm
from kvplan.core.model import DenseFfn, Ffn, Layer, ModelSpec, MoeFfn
from kvplan.specs.config import Config
from kvplan.specs.parts.attention import Heads, attention, full, read_heads
from kvplan.specs.parts.blocks import Groups, norm
from kvplan.specs.parts.decoder import Style, assemble, completed, rotary_width
from kvplan.specs.parts.experts import MoeStyle, dense_or_moe
from kvplan.specs.parts.forms import NORMED_ROTATION, ROTATION, moe_moments

MODEL_TYPES = ("hunyuan_v1_moe", "hunyuan")

_DEFAULTS = {"num_experts": 1, "moe_topk": 1, "max_position_embeddings": 2048}
_ALIASES = {"num_experts_per_tok": "moe_topk", "num_local_experts": "num_experts", "attention_head_dim": "head_dim"}


def build(cfg: Config) -> ModelSpec:
    """What only Hunyuan-Large's own code reads (shared keys and values, absent norms or shared experts) counts there alone."""
    own = cfg.text("model_type", default="hunyuan") == "hunyuan"
    cfg = completed(cfg.renamed(_ALIASES), _DEFAULTS)
    heads = read_heads(cfg, cfg.integer("hidden_size"))
    normed = cfg.flag("use_qk_norm", default=False) if own else True
    step = cfg.integer("cla_share_factor", default=1) if own and cfg.flag("use_cla", default=False) else 1
    layers = []
    for i, ffn in enumerate(_ffns(cfg, own=own)):
        layer = _layer(cfg, heads, ffn, normed=normed, shares=i % step > 0)
        layers.append(layer._replace(kv_source=i - i % step) if i % step else layer)
    form = ActivationForm(
        attention=NORMED_ROTATION if normed else ROTATION,
        moe=moe_moments(hidden="5H", float32=True),
        rotary_dim=rotary_width(cfg),
        checked=cfg.text("model_type", default="") == "hunyuan_v1_moe",
    )
    return assemble(cfg, layers, Style(), form)


def _ffns(cfg: Config, *, own: bool) -> tuple[Ffn, ...]:
    """One expert is a plain feed-forward in Hunyuan's own code, and still a mixture in Transformers'."""
    n_experts, width, n_layers = cfg.integer("num_experts"), cfg.integer("intermediate_size"), cfg.n_layers()
    if own and n_experts == 1:
        return (DenseFfn(width),) * n_layers
    if own and not cfg.flag("use_mixed_mlp_moe", default=False):
        shared: tuple[int, ...] = (0,) * n_layers
    else:
        shared = _each(cfg, "num_shared_expert", n_layers) if own else (1,) * n_layers
    widths = _each(cfg, "moe_intermediate_size", n_layers) if own and cfg.has("moe_intermediate_size") else (width,) * n_layers
    active = _each(cfg, "moe_topk", n_layers)
    if max(active) > n_experts:
        raise cfg.error("moe_topk", f"expected at most the {n_experts} experts that there are, found {max(active)}")
    return tuple(MoeFfn(n_experts, active[i], widths[i], width * shared[i]) for i in range(n_layers))


def _each(cfg: Config, key: str, n_layers: int) -> tuple[int, ...]:
    """The number at ``key`` for each layer, which may be a list of them."""
    if isinstance(cfg.data.get(key), list):
        return tuple(cfg.per_layer(key, n_layers, cfg.integers(key, least=1)))
    return (cfg.integer(key, default=1),) * n_layers


def _layer(cfg: Config, heads: Heads, ffn: Ffn, *, normed: bool, shares: bool) -> Layer:
    hidden, bias = cfg.integer("hidden_size"), cfg.flag("attention_bias", default=False)
    mixing: Groups = attention(hidden, heads, qkv_bias=bias, o_bias=bias, qk_norm="head" if normed else None)
    if shares:
        mixing = tuple(group for group in mixing if not group.name.startswith(("self_attn.k_proj", "self_attn.v_proj")))
    norms = (*norm("input_layernorm", hidden), *norm("post_attention_layernorm", hidden))
    moe = MoeStyle(router="gate.wg", router_dtype="float32", shared="shared_mlp")
    return Layer((full(heads),), (ffn,), (*norms, *mixing, *dense_or_moe(hidden, ffn, moe)))
