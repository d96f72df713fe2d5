"""gpt-oss: biases everywhere, attention sinks, every other layer sees a window.

Source: transformers 5.24 models/gpt_oss; OpenAI 2025, arXiv:2508.10925 §2.
"""

from kvplan.core.forms import ActivationForm
from kvplan.core.model import ModelSpec, MoeFfn
from kvplan.specs.config import Config
from kvplan.specs.parts.blocks import vector
from kvplan.specs.parts.decoder import Style, completed, rotary_dim
from kvplan.specs.parts.experts import MoeStyle
from kvplan.specs.parts.forms import ROUTING
from kvplan.specs.parts.sparse import experts_per_token, sparse_decoder

MODEL_TYPES = ("gpt_oss",)

_DEFAULTS = {
    "num_key_value_heads": 8,
    "sliding_window": 128,
    "num_experts_per_tok": 4,
    "attention_bias": True,
    "max_position_embeddings": 131072,
}


def build(cfg: Config) -> ModelSpec:
    """Layers 0, 2, 4 … slide where ``layer_types`` doesn't say; a head is 64 wide where ``head_dim`` doesn't say."""
    cfg = completed(cfg, _DEFAULTS)
    n_experts = cfg.integer("num_local_experts", "num_experts", default=128)
    ffn = MoeFfn(n_experts, experts_per_token(cfg, "num_experts_per_tok", of=n_experts), cfg.integer("intermediate_size"))
    bias = cfg.flag("attention_bias")
    head_dim = None if cfg.names("head_dim") else 64
    style = Style(
        qkv_bias=bias,
        o_bias=bias,
        head_dim=head_dim,
        window=cfg.optional_integer("sliding_window"),
        kinds=("sliding_attention", "full_attention"),
    )
    n_heads = cfg.integer("num_attention_heads")
    form = ActivationForm(
        merges_experts=False,
        rotary_dim=rotary_dim(cfg, cfg.integer("head_dim", default=head_dim or cfg.integer("hidden_size") // n_heads)),
        scores="3NL + 2N",
        kept_scores="NL + N",
        moe=(f"4H + AH + 9AM + {ROUTING}", f"4H + 5AH + {ROUTING}"),
        eager_only=True,
        checked=True,
    )
    moe = MoeStyle(router="router", router_bias=True, expert_bias=True)
    return sparse_decoder(cfg, style, (ffn,) * cfg.n_layers(), moe, form, vector("self_attn.sinks", n_heads, role="attention"))
