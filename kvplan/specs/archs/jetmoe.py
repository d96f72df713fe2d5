"""JetMoE: mixtures in both blocks; each token's chosen attention experts share one set of keys and values.

Source: transformers 5.24 models/jetmoe; Shen et al. 2024, arXiv:2404.07413 §2.
"""

from kvplan.core.forms import ActivationForm
from kvplan.core.mixers import FullAttention
from kvplan.core.model import Layer, ModelSpec, MoeFfn, Shard, WeightGroup
from kvplan.specs.config import Config
from kvplan.specs.parts.blocks import Groups, copies, linear, norm, vector
from kvplan.specs.parts.decoder import Style, assemble, completed, rotary_dim
from kvplan.specs.parts.sparse import experts_per_token

MODEL_TYPES = ("jetmoe",)

_DEFAULTS = {
    "num_key_value_heads": 16,
    "kv_channels": 128,
    "num_local_experts": 8,
    "num_experts_per_tok": 2,
    "max_position_embeddings": 4096,
}
_EXPERT: Shard = "expert"


def build(cfg: Config) -> ModelSpec:
    """Query heads are ``num_key_value_heads`` for each expert that a token visits, whatever the config says of them."""
    cfg = completed(cfg.renamed({"head_dim": "kv_channels"}), _DEFAULTS)
    hidden, width = cfg.integer("hidden_size"), cfg.integer("intermediate_size")
    n_kv_heads, head_dim = cfg.integer("num_key_value_heads"), cfg.integer("kv_channels")
    n_experts = cfg.integer("num_local_experts")
    n_active = experts_per_token(cfg, "num_experts_per_tok", of=n_experts)
    kv = n_kv_heads * head_dim
    weights = (
        *norm("input_layernorm", hidden),
        *norm("post_attention_layernorm", hidden),
        *linear("self_attention.kv_proj", 2 * kv, hidden, role="attention", shard="kv"),
        *_experts("self_attention.experts", hidden, (kv, kv), n_experts),
        *_experts("mlp", hidden, (2 * width, width), n_experts),
    )
    mixer = FullAttention(n_active * n_kv_heads, n_kv_heads, head_dim, head_dim)
    layer = Layer((mixer,), (MoeFfn(n_experts, n_active, width),), weights)
    form = ActivationForm(rotary_dim=rotary_dim(cfg, head_dim), merges_experts=False)
    return assemble(cfg, [layer] * cfg.n_layers(), Style(tied=True), form)


def _experts(name: str, hidden: int, widths: tuple[int, int], n_experts: int) -> Groups:
    """Router, experts from ``hidden`` to the first width and from the second back, and one bias for their sum."""
    up, down = widths
    experts = (
        WeightGroup(f"{name}.input_linear.weight", "expert", up, hidden, shard=_EXPERT),
        WeightGroup(f"{name}.output_linear.weight", "expert", hidden, down, shard=_EXPERT),
    )
    router = linear(f"{name}.router.layer", n_experts, hidden, role="router")
    return (*router, *copies(experts, n_experts), *vector(f"{name}.bias", hidden, role="other"))
