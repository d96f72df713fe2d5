"""LongCat-Flash: layers of two latent attentions, two dense feed-forwards, and one mixture beside them.

Some of the mixture's experts do nothing; Transformers stores their up-projections all the same.
Source: transformers 5.24 models/longcat_flash; LongCat-Flash report, arXiv:2509.01322 §2.
"""

from collections.abc import Mapping

from kvplan.core.model import Caveat, DenseFfn, Layer, ModelSpec, MoeFfn
from kvplan.specs.config import Config
from kvplan.specs.parts.blocks import Groups, copies, gated_mlp, linear
from kvplan.specs.parts.decoder import Style, assemble, completed
from kvplan.specs.parts.experts import MoeStyle, router
from kvplan.specs.parts.latent import block_norms, latent_form, latent_layers, mla_weights, read_mla
from kvplan.specs.parts.mtp import n_next_token, next_token, own_embeddings

MODEL_TYPES = ("longcat_flash",)

DEFAULTS: Mapping[str, object] = {
    "kv_lora_rank": 512,
    "q_lora_rank": 1536,
    "qk_rope_head_dim": 64,
    "qk_nope_head_dim": 128,
    "v_head_dim": 128,
    "moe_intermediate_size": 2048,
    "n_routed_experts": 512,
    "num_experts_per_tok": 12,
    "zero_expert_num": 256,
    "max_position_embeddings": 131072,
}
_IDLE = "mlp.experts.idle"
ALIASES = {
    "ffn_hidden_size": "intermediate_size",
    "expert_ffn_hidden_size": "moe_intermediate_size",
    "moe_topk": "num_experts_per_tok",
    "num_local_experts": "n_routed_experts",
}


def build(cfg: Config) -> ModelSpec:
    """``num_layers`` counts layers, ``num_hidden_layers`` their attentions; next-token layers have one attention and no mixture."""
    cfg = completed(cfg.renamed(ALIASES), DEFAULTS)
    if cfg.optional_integer("q_lora_rank") is None:
        raise cfg.error("q_lora_rank", "expected a rank: the class has no plain query projection")
    n_layers = cfg.n_layers("num_layers") if cfg.has("num_layers") else cfg.n_layers() // 2
    layer, dense = _layer(cfg), DenseFfn(cfg.integer("intermediate_size"))
    (drafting,) = latent_layers(cfg, (read_mla(cfg),), (dense,), MoeStyle())
    mtp = next_token(cfg.integer("hidden_size"), drafting, n_next_token(cfg), own=own_embeddings(cfg))
    n_idle = n_layers * sum(group.n_params for group in layer.weights if group.name.startswith(_IDLE))
    spec = assemble(cfg, [layer] * n_layers, Style(), latent_form(cfg)._replace(gathers_experts=False))
    return spec._replace(mtp=mtp, caveats=(_unused(n_idle),) if n_idle else ())


def _layer(cfg: Config) -> Layer:
    hidden, mla, dense = cfg.integer("hidden_size"), read_mla(cfg), cfg.integer("intermediate_size")
    n_real, n_idle = cfg.integer("n_routed_experts"), cfg.integer("zero_expert_num", default=0, least=0)
    width = cfg.integer("moe_intermediate_size")
    ffn = MoeFfn(n_real + n_idle, cfg.integer("num_experts_per_tok", most=n_real + n_idle), width)
    halves = (
        *block_norms(hidden),
        *mla_weights(hidden, mla, bias=cfg.flag("attention_bias", default=False)),
        *gated_mlp(hidden, dense, name="mlps"),
    )
    style = MoeStyle(router="router.classifier", router_bias=cfg.flag("router_bias", default=False), correction="buffer")
    weights = (
        *copies(halves, 2),
        *router(hidden, ffn.n_experts, style),
        *copies(gated_mlp(hidden, width, name="mlp.experts", role="expert"), n_real),
        *(_idle(hidden, width, n_idle) if n_idle else ()),
    )
    return Layer((mla, mla), (ffn, DenseFfn(dense), DenseFfn(dense)), weights)


def _idle(hidden: int, width: int, n_experts: int) -> Groups:
    """Gate and up projections of experts that pass their input on."""
    return copies(linear(f"{_IDLE}.gate_up_proj", 2 * width, hidden, role="expert", shard="expert"), n_experts)


def _unused(n_params: int) -> Caveat:
    return Caveat(
        "KV012",
        "warning",
        f"{n_params:,} of the parameters are projections that Transformers builds for experts that only pass their input on",
        "the checkpoint doesn't hold them, nor do engines with code of their own",
    )
