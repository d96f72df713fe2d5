"""OLMo Hybrid: three layers of gated delta networks with a norm before them, then one of attention with norms after it.

Source: transformers 5.24 models/olmo_hybrid.
"""

from kvplan.core.forms import ActivationForm, delta_scan
from kvplan.core.mixers import GatedDeltaNet
from kvplan.core.model import DenseFfn, ModelSpec
from kvplan.specs.config import Config
from kvplan.specs.parts.attention import attention, full, read_heads
from kvplan.specs.parts.blocks import gated_mlp, norm
from kvplan.specs.parts.decoder import Style, assemble, completed, rotary_dim
from kvplan.specs.parts.forms import NORMED_ROTATION
from kvplan.specs.parts.hybrid import FeedForward, Mixing, mixed_layers, read_kinds
from kvplan.specs.parts.state_space import gated_delta

MODEL_TYPES = ("olmo_hybrid",)

_DEFAULTS: dict[str, object] = {
    "vocab_size": 100352,
    "hidden_size": 3840,
    "intermediate_size": 11008,
    "num_hidden_layers": 32,
    "num_attention_heads": 30,
    "max_position_embeddings": 65536,
}
_KINDS = ("linear_attention", "full_attention")


def build(cfg: Config) -> ModelSpec:
    """Each fourth layer attends, or the last one where there is no fourth. Rotation only where the config has rope parameters."""
    cfg = completed(cfg, _DEFAULTS)
    hidden, intermediate = cfg.integer("hidden_size"), cfg.integer("intermediate_size")
    heads, net = read_heads(cfg, hidden), _read_delta(cfg, hidden)
    kinds = read_kinds(cfg, _KINDS, _default_kinds(cfg.n_layers()))
    if len(set(kinds)) < len(_KINDS):
        raise cfg.error("layer_types", f"expected layers of both kinds, found only {kinds[0]}")
    bias = cfg.flag("attention_bias", default=False)
    ways = {
        "full_attention": Mixing((full(heads),), attention(hidden, heads, qkv_bias=bias, o_bias=bias, qk_norm="full")),
        "linear_attention": Mixing((net,), gated_delta("linear_attn", hidden, net, _projections(net))),
    }
    feed = FeedForward(DenseFfn(intermediate), gated_mlp(hidden, intermediate))
    norms = (*norm("post_attention_layernorm", hidden), *norm("other_layernorm", hidden))
    layers = mixed_layers([ways[kind] for kind in kinds], [feed] * len(kinds), norms)
    rotated = cfg.has("rope_parameters") or cfg.has("rope_scaling") or cfg.has("rope_theta")
    form = ActivationForm(
        rotary_dim=rotary_dim(cfg, heads.head_dim) if rotated else None,
        attention=NORMED_ROTATION,
        states=(delta_scan("3H + C"),),
        checked=True,
    )
    return assemble(cfg, layers, Style(), form)


def _default_kinds(n_layers: int) -> list[str]:
    kinds = [_KINDS[i % 4 == 3] for i in range(n_layers)]
    return kinds if "full_attention" in kinds else [*kinds[:-1], "full_attention"]


def _read_delta(cfg: Config, hidden: int) -> GatedDeltaNet:
    """As many heads as the attention, keys three quarters as wide as the model in all, values twice as wide as keys."""
    n_heads = cfg.integer("num_attention_heads")
    n_k, n_v = cfg.integer("linear_num_key_heads", default=n_heads), cfg.integer("linear_num_value_heads", default=n_heads)
    if n_v % n_k:
        raise cfg.error("linear_num_value_heads", f"expected a multiple of the {n_k} key heads, found {n_v}")
    k_dim = cfg.integer("linear_key_head_dim", default=int(0.75 * hidden / n_k))
    v_dim = cfg.integer("linear_value_head_dim", default=2 * k_dim)
    return GatedDeltaNet(n_k, n_v, k_dim, v_dim, cfg.integer("linear_conv_kernel_dim", default=4))


def _projections(net: GatedDeltaNet) -> dict[str, int]:
    key, value = net.n_k_heads * net.k_head_dim, net.n_v_heads * net.v_head_dim
    return {"q_proj": key, "k_proj": key, "v_proj": value, "a_proj": net.n_v_heads, "b_proj": net.n_v_heads, "g_proj": value}
