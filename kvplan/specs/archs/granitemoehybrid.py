"""Granite 4: Mamba-2 or attention in each layer, a dense feed-forward in all, and a mixture of experts beside it in some models.

Source: transformers 5.24 models/granitemoehybrid.
"""

from kvplan.core.forms import ActivationForm, chunked_scan
from kvplan.core.model import DenseFfn, ModelSpec, MoeFfn
from kvplan.specs.config import Config
from kvplan.specs.parts.attention import attention, full, read_heads
from kvplan.specs.parts.blocks import gated_mlp, norm
from kvplan.specs.parts.decoder import Style, assemble, completed, rotary_dim
from kvplan.specs.parts.experts import MoeStyle, moe
from kvplan.specs.parts.hybrid import FeedForward, Mixing, mixed_layers, read_kinds
from kvplan.specs.parts.sparse import experts_per_token
from kvplan.specs.parts.state_space import expanded, mamba2, read_biases, read_mamba2

MODEL_TYPES = ("granitemoehybrid",)

_DEFAULTS: dict[str, object] = {
    "vocab_size": 32000,
    "hidden_size": 4096,
    "intermediate_size": 11008,
    "num_hidden_layers": 32,
    "num_attention_heads": 32,
    "max_position_embeddings": 2048,
    "num_local_experts": 8,
}
_KINDS = ("linear_attention", "full_attention")


def build(cfg: Config) -> ModelSpec:
    """Every layer is Mamba-2 where the config lists no kinds; rotation only where ``position_embedding_type`` is rope."""
    cfg = completed(cfg, _DEFAULTS)
    hidden = cfg.integer("hidden_size")
    kinds = read_kinds(cfg, _KINDS, ["linear_attention"] * cfg.n_layers())
    heads = read_heads(cfg, hidden)
    bias = cfg.flag("attention_bias", default=False)
    ways = {"full_attention": Mixing((full(heads),), attention(hidden, heads, qkv_bias=bias, o_bias=bias))}
    if "linear_attention" in kinds:
        ssm = read_mamba2(cfg, expanded(cfg, "mamba_expand", hidden))
        ways["linear_attention"] = Mixing((ssm,), mamba2("mamba", hidden, ssm, read_biases(cfg)))
    norms = (*norm("input_layernorm", hidden), *norm("post_attention_layernorm", hidden))
    layers = mixed_layers([ways[kind] for kind in kinds], [_feed(cfg, hidden)] * len(kinds), norms)
    rotated = cfg.text("position_embedding_type", default="none") == "rope"
    states = (chunked_scan(cfg.integer("mamba_chunk_size", default=256)),)
    return assemble(
        cfg,
        layers,
        Style(),
        ActivationForm(rotary_dim=rotary_dim(cfg, heads.head_dim) if rotated else None, states=states, merges_experts=False, checked=True),
    )


def _feed(cfg: Config, hidden: int) -> FeedForward:
    """The dense feed-forward, which the mixture, where there are experts, has beside it."""
    width = cfg.integer("shared_intermediate_size", default=1024)
    n_experts = cfg.integer("num_local_experts", "num_experts", least=0)
    if not n_experts:
        return FeedForward(DenseFfn(width), gated_mlp(hidden, width, name="shared_mlp"))
    n_active = experts_per_token(cfg, "num_experts_per_tok", of=n_experts, default=2)
    ffn = MoeFfn(n_experts, n_active, cfg.integer("intermediate_size"), shared_intermediate=width)
    return FeedForward(ffn, moe(hidden, ffn, MoeStyle(name="block_sparse_moe", router="router", shared="shared_mlp")))
