"""Ling's hybrid: delta attention, and gated latent attention in the last layer of each group.

Source: transformers 5.24 models/bailing_hybrid.
"""

from collections.abc import Mapping

from kvplan.core.forms import ActivationForm
from kvplan.core.mixers import GatedDeltaNet, Mla
from kvplan.core.model import DenseFfn, Layer, ModelSpec, MoeFfn
from kvplan.specs.config import Config
from kvplan.specs.parts.blocks import linear
from kvplan.specs.parts.decoder import Style, assemble, completed
from kvplan.specs.parts.experts import dense_or_moe
from kvplan.specs.parts.forms import KEY_DECAY, moe_moments
from kvplan.specs.parts.hybrid import read_kinds
from kvplan.specs.parts.kda import KdaStyle, kda_weights, square_net
from kvplan.specs.parts.latent import DEEPSEEK_MOE, block_norms, mla_weights, paired, read_mla, routed
from kvplan.specs.parts.mtp import n_next_token, next_token
from kvplan.specs.parts.sparse import by_kind

MODEL_TYPES = ("bailing_hybrid",)

FULL, LINEAR = "full_attention", "linear_attention"
KDA = KdaStyle(full_rank_decay=True, full_rank_gate=True, conv_dtype="float32", decay_dtype="float32")
DEFAULTS: Mapping[str, object] = {
    "moe_intermediate_size": 768,
    "n_routed_experts": 512,
    "n_shared_experts": 1,
    "num_experts_per_tok": 8,
    "first_k_dense_replace": 2,
    "kv_lora_rank": 512,
    "q_lora_rank": None,
    "qk_rope_head_dim": 64,
    "qk_nope_head_dim": 128,
    "v_head_dim": 128,
    "head_dim": 128,
    "short_conv_kernel_size": 4,
    "layer_group_size": 6,
    "num_nextn_predict_layers": 1,
    "max_position_embeddings": 262144,
}
ALIASES = {
    "num_experts": "n_routed_experts",
    "num_local_experts": "n_routed_experts",
    "num_experts_per_token": "num_experts_per_tok",
    "num_shared_experts": "n_shared_experts",
    "num_mtp_layers": "num_nextn_predict_layers",
    "model_max_length": "max_position_embeddings",
}


def build(cfg: Config) -> ModelSpec:
    """The class ties nothing. Next-token layers have latent attention and a mixture."""
    cfg = completed(cfg.renamed(ALIASES), DEFAULTS)
    cfg = Config({**cfg.data, "tie_word_embeddings": False}, where=cfg.where, path=cfg.path)
    n_layers, group, first = cfg.n_layers(), cfg.integer("layer_group_size"), cfg.integer("first_k_dense_replace", least=0)
    mla, moe = read_mla(cfg), routed(cfg)
    net = square_net(  # files written by the class have the linear_ keys, and a head_dim that means the rotation
        cfg.integer("linear_num_heads", default=mla.n_heads),
        cfg.integer("linear_head_dim", "head_dim"),
        cfg.integer("linear_conv_kernel_dim", "short_conv_kernel_size"),
    )
    kinds = read_kinds(cfg, (FULL, LINEAR), [LINEAR if (i + 1) % group else FULL for i in range(n_layers)])
    dense = DenseFfn(cfg.integer("intermediate_size"))
    ffns = by_kind(cfg, dense, moe, ["dense" if i < first else "sparse" for i in range(n_layers)])
    mixers = [mla if kind == FULL else net for kind in kinds]
    layers = paired(mixers, ffns, lambda mixer, ffn: _layer(cfg, mixer, ffn))
    form = ActivationForm(rotary_dim=mla.rope_head_dim or None, moe=moe_moments(float32=True), states=KEY_DECAY)
    mtp = next_token(cfg.integer("hidden_size"), _layer(cfg, mla, moe), n_next_token(cfg))
    return assemble(cfg, layers, Style(), form)._replace(mtp=mtp)


def _layer(cfg: Config, mixer: Mla | GatedDeltaNet, ffn: DenseFfn | MoeFfn) -> Layer:
    hidden = cfg.integer("hidden_size")
    if mixer.kind == "mla":
        gate = linear("self_attn.g_proj", mixer.n_heads, hidden, role="attention", shard="column")
        mixing = (*mla_weights(hidden, mixer, bias=cfg.flag("attention_bias", default=False)), *gate)
    else:
        mixing = kda_weights(hidden, mixer, KDA)
    return Layer((mixer,), (ffn,), (*block_norms(hidden), *mixing, *dense_or_moe(hidden, ffn, DEEPSEEK_MOE)))
