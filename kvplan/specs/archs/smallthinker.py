"""SmallThinker: small experts in every layer, chosen before the attention; a list says which layers slide.

Source: PowerInfer/SmallThinker-21BA3B-Instruct configuration_smallthinker.py, modeling_smallthinker.py (2025); arXiv:2507.20984 §3.
"""

from kvplan.core.forms import ActivationForm
from kvplan.core.model import ModelSpec, MoeFfn
from kvplan.specs.config import Config
from kvplan.specs.parts.decoder import Style, completed, rotary_width
from kvplan.specs.parts.experts import MoeStyle
from kvplan.specs.parts.sparse import experts_per_token, sparse_decoder

MODEL_TYPES = ("smallthinker",)

_DEFAULTS = {
    "num_key_value_heads": 2,
    "head_dim": 128,
    "sliding_window_size": 4096,
    "moe_num_primary_experts": 32,
    "moe_num_active_primary_experts": 4,
    "moe_ffn_hidden_size": 768,
    "tie_word_embeddings": True,
    "max_position_embeddings": 131072,
}


def build(cfg: Config) -> ModelSpec:
    """``sliding_window_layout`` has a 1 for each layer that slides; without it none does."""
    cfg, n_layers = completed(cfg, _DEFAULTS), cfg.n_layers()
    n_experts = cfg.integer("moe_num_primary_experts")
    n_active = experts_per_token(cfg, "moe_num_active_primary_experts", of=n_experts)
    ffn = MoeFfn(n_experts, n_active, cfg.integer("moe_ffn_hidden_size"))
    layout = cfg.per_layer("sliding_window_layout", n_layers, cfg.integers("sliding_window_layout", default=(0,) * n_layers))
    kinds = tuple("sliding_attention" if slides else "full_attention" for slides in layout)
    style = Style(window=cfg.integer("sliding_window_size"), kinds=kinds)
    moe = MoeStyle(name="block_sparse_moe", router="primary_router")
    return sparse_decoder(cfg, style, (ffn,) * n_layers, moe, ActivationForm(rotary_dim=rotary_width(cfg)))
