"""Grok-1 and Grok-2: norms before and after both blocks; Grok-2 adds a dense feed-forward beside its experts.

Source: xai-org/grok-1 model.py (2024) and its Transformers form hpcai-tech/grok-1 modeling_grok1.py; SGLang models/grok.py
for the keys of Grok-2, whose published config calls itself ``git``.
"""

from kvplan.core.forms import ActivationForm
from kvplan.core.model import DenseFfn, Layer, ModelSpec, MoeFfn
from kvplan.specs.config import Config
from kvplan.specs.parts.attention import full, read_heads
from kvplan.specs.parts.blocks import gated_mlp
from kvplan.specs.parts.decoder import Style, assemble, mixing_weights, rotary_dim
from kvplan.specs.parts.experts import MoeStyle, moe
from kvplan.specs.parts.sparse import experts_per_token

MODEL_TYPES = ("grok-1", "grok-2")
ARCHITECTURES = ("Grok1ForCausalLM", "Grok1ModelForCausalLM")


def build(cfg: Config) -> ModelSpec:
    """Experts are ``moe_intermediate_size`` wide, else ``intermediate_size``; the dense branch always the latter."""
    hidden, intermediate = cfg.integer("hidden_size"), cfg.integer("intermediate_size")
    heads = read_heads(cfg, hidden)
    n_experts = cfg.integer("num_experts", "num_local_experts")
    n_active = experts_per_token(cfg, "num_experts_per_tok", "num_selected_experts", of=n_experts)
    ffn = MoeFfn(n_experts, n_active, cfg.integer("moe_intermediate_size", default=intermediate))
    norms = ("pre_attn_norm", "post_attn_norm", "pre_moe_norm", "post_moe_norm")
    weights = (*mixing_weights(hidden, heads, Style(layer_norms=norms)), *moe(hidden, ffn, MoeStyle(name="block_sparse_moe")))
    layer = Layer((full(heads),), (ffn,), weights)
    if cfg.flag("residual_moe", default=False):
        layer = Layer(layer.mixers, (ffn, DenseFfn(intermediate)), (*weights, *gated_mlp(hidden, intermediate)))
    _all_global(cfg)
    form = ActivationForm(rotary_dim=rotary_dim(cfg, heads.head_dim), eager_only=True)
    return assemble(cfg, [layer] * cfg.n_layers(), Style(tied=True), form)


def _all_global(cfg: Config) -> None:
    """Refuse windows: no published checkpoint has them, and where they would stand is not written anywhere."""
    window = cfg.integer("sliding_window_size", default=-1, least=-1)
    if window > 0 and cfg.integer("global_attn_every_n", default=1) > 1:
        raise cfg.error("sliding_window_size", f"expected -1 (full attention in every layer), found {window}")
