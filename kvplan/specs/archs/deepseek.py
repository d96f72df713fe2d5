"""DeepSeekMoE 16B: LLaMA's attention with a mixture of small experts and shared ones.

Transformers has no class for it; the model authors' own code is the source: deepseek-ai/deepseek-moe-16b-base
modeling_deepseek.py; DeepSeekMoE, arXiv:2401.06066 §3.
"""

from collections.abc import Mapping

from kvplan.core.forms import ActivationForm
from kvplan.core.model import DenseFfn, Ffn, ModelSpec, MoeFfn
from kvplan.specs.config import Config
from kvplan.specs.parts.attention import read_heads
from kvplan.specs.parts.decoder import Style, completed
from kvplan.specs.parts.experts import MoeStyle
from kvplan.specs.parts.latent import routed
from kvplan.specs.parts.sparse import sparse_decoder

MODEL_TYPES = ("deepseek",)

DEFAULTS: Mapping[str, object] = {
    "moe_intermediate_size": 1407,
    "moe_layer_freq": 1,
    "first_k_dense_replace": 0,
    "attention_bias": False,
    "max_position_embeddings": 2048,
}


def build(cfg: Config) -> ModelSpec:
    """Without ``n_routed_experts`` all layers are dense, as in the 67B model."""
    cfg = completed(cfg, DEFAULTS)
    bias, heads = cfg.flag("attention_bias"), read_heads(cfg, cfg.integer("hidden_size"))
    form = ActivationForm(rotary_dim=heads.head_dim)
    return sparse_decoder(cfg, Style(qkv_bias=bias, o_bias=bias), _ffns(cfg), MoeStyle(), form)


def _ffns(cfg: Config) -> tuple[Ffn, ...]:
    n_layers, dense = cfg.n_layers(), DenseFfn(cfg.integer("intermediate_size"))
    if not cfg.has("n_routed_experts"):
        return (dense,) * n_layers
    moe: MoeFfn = routed(cfg)
    first, step = cfg.integer("first_k_dense_replace", least=0), cfg.integer("moe_layer_freq")
    return tuple(moe if i >= first and i % step == 0 else dense for i in range(n_layers))
