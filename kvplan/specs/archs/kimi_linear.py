"""Kimi Linear, and Kimi-K3's text model: delta attention in three of four layers, latent attention in the others.

Kimi-K3 adds an output gate, experts in a narrower space, and attention over the residuals of earlier blocks.
Source: transformers 5.24 models/kimi_linear; for Kimi-K3 the tensors of moonshotai/Kimi-K3 (modeling_kimi_linear.py there).
"""

from collections.abc import Mapping

from kvplan.core.forms import ActivationForm
from kvplan.core.mixers import GatedDeltaNet, Mla
from kvplan.core.model import DenseFfn, Layer, ModelSpec, MoeFfn
from kvplan.specs.config import Config
from kvplan.specs.parts.blocks import Groups, copies, gated_mlp, linear, norm
from kvplan.specs.parts.decoder import Style, assemble, completed
from kvplan.specs.parts.experts import dense_or_moe, router
from kvplan.specs.parts.forms import KEY_DECAY, moe_moments
from kvplan.specs.parts.hybrid import read_kinds
from kvplan.specs.parts.kda import KdaStyle, kda_weights, square_net
from kvplan.specs.parts.latent import DEEPSEEK_MOE, block_norms, mla_weights, paired, read_mla, routed
from kvplan.specs.parts.sparse import by_kind

MODEL_TYPES = ("kimi_linear",)

FULL, LINEAR = "full_attention", "linear_attention"
DEFAULTS: Mapping[str, object] = {
    "moe_intermediate_size": 1024,
    "n_routed_experts": 256,
    "n_shared_experts": 1,
    "num_experts_per_tok": 8,
    "first_k_dense_replace": 1,
    "kv_lora_rank": 512,
    "q_lora_rank": None,
    "qk_rope_head_dim": 64,
    "qk_nope_head_dim": 128,
    "v_head_dim": 128,
    "linear_head_dim": 128,
    "linear_num_heads": 32,
    "linear_conv_kernel_dim": 4,
    "max_position_embeddings": 1048576,
}
ALIASES = {
    "num_experts": "n_routed_experts",
    "num_local_experts": "n_routed_experts",
    "num_experts_per_token": "num_experts_per_tok",
    "num_shared_experts": "n_shared_experts",
    "model_max_length": "max_position_embeddings",
}


def build(cfg: Config) -> ModelSpec:
    """The output projection is its own whatever ``tie_word_embeddings`` says: the class ties nothing. There is no rotation."""
    cfg = completed(cfg.renamed(ALIASES), DEFAULTS)
    cfg = Config({**cfg.data, "tie_word_embeddings": False}, where=cfg.where, path=cfg.path)
    hidden, linear_cfg = cfg.integer("hidden_size"), cfg.sub("linear_attn_config")
    mla, moe = read_mla(cfg), routed(cfg)
    net = square_net(
        linear_cfg.integer("num_heads", default=cfg.integer("linear_num_heads")),
        linear_cfg.integer("head_dim", default=cfg.integer("linear_head_dim")),
        linear_cfg.integer("short_conv_kernel_size", default=cfg.integer("linear_conv_kernel_dim")),
    )
    first = cfg.integer("first_k_dense_replace", least=0)
    default = ["dense" if i < first else "sparse" for i in range(cfg.n_layers())]
    ffns = by_kind(cfg, DenseFfn(cfg.integer("intermediate_size")), moe, default)
    mixers = [mla if kind == FULL else net for kind in _kinds(cfg)]
    layers = paired(mixers, ffns, lambda mixer, ffn: _layer(cfg, mixer, ffn))
    spec = assemble(cfg, layers, Style(), ActivationForm(moe=moe_moments(float32=True), states=KEY_DECAY))
    return spec._replace(weights=(*spec.weights, *_residual_attention(cfg, "output_attn_res", hidden)))


def _kinds(cfg: Config) -> tuple[str, ...]:
    """``layer_types``, else the lists of layers, counted from 1, in ``linear_attn_config``, else the class's rhythm."""
    n_layers, linear_cfg = cfg.n_layers(), cfg.sub("linear_attn_config")
    default = [FULL if i and i % 4 == 0 else LINEAR for i in range(n_layers)]
    if linear_cfg.has("full_attn_layers") and linear_cfg.has("kda_layers") and not cfg.has("layer_types"):
        latent, delta = linear_cfg.integers("full_attn_layers", least=1), linear_cfg.integers("kda_layers", least=1)
        if sorted([*latent, *delta]) != list(range(1, n_layers + 1)):
            raise linear_cfg.error("kda_layers", f"expected each layer from 1 to {n_layers} once, here or in full_attn_layers")
        default = [FULL if i + 1 in latent else LINEAR for i in range(n_layers)]
    return read_kinds(cfg, (FULL, LINEAR), default)


def _layer(cfg: Config, mixer: Mla | GatedDeltaNet, ffn: DenseFfn | MoeFfn) -> Layer:
    hidden = cfg.integer("hidden_size")
    weights = (
        *block_norms(hidden),
        *(_latent(cfg, hidden, mixer) if mixer.kind == "mla" else kda_weights(hidden, mixer, _kda_style(cfg))),
        *(_narrow_moe(cfg, hidden, ffn) if ffn.kind == "moe" and cfg.has("routed_expert_hidden_size") else ()),
        *(() if ffn.kind == "moe" and cfg.has("routed_expert_hidden_size") else dense_or_moe(hidden, ffn, DEEPSEEK_MOE)),
        *_residual_attention(cfg, "self_attention_res", hidden),
        *_residual_attention(cfg, "mlp_res", hidden),
    )
    return Layer((mixer,), (ffn,), weights)


def _latent(cfg: Config, hidden: int, mla: Mla) -> Groups:
    gated = cfg.flag("mla_use_output_gate", default=False)
    gate = linear("self_attn.g_proj", mla.n_heads * mla.v_head_dim, hidden, role="attention", shard="column") if gated else ()
    return (*mla_weights(hidden, mla, bias=cfg.flag("attention_bias", default=False)), *gate)


def _kda_style(cfg: Config) -> KdaStyle:
    return KdaStyle(full_rank_gate=cfg.sub("linear_attn_config").flag("use_full_rank_gate", default=False))


def _narrow_moe(cfg: Config, hidden: int, ffn: MoeFfn) -> Groups:
    """Experts that work ``routed_expert_hidden_size`` wide between two projections; router and shared experts see the whole."""
    width = cfg.integer("routed_expert_hidden_size")
    return (
        *router(hidden, ffn.n_experts, DEEPSEEK_MOE),
        *copies(gated_mlp(width, ffn.intermediate, name="mlp.experts", role="expert"), ffn.n_experts),
        *gated_mlp(hidden, ffn.shared_intermediate, name="mlp.shared_experts", role="shared_expert"),
        *linear("mlp.routed_expert_down_proj", width, hidden, role="mlp"),
        *linear("mlp.routed_expert_up_proj", hidden, width, role="mlp"),
        *(norm("mlp.routed_expert_norm", width) if cfg.flag("latent_moe_use_norm", default=False) else ()),
    )


def _residual_attention(cfg: Config, name: str, hidden: int) -> Groups:
    """A query over the residuals of earlier blocks of ``attn_res_block_size`` layers, and their norm."""
    if not cfg.has("attn_res_block_size"):
        return ()
    return (*norm(f"{name}_norm", hidden), *linear(f"{name}_proj", 1, hidden, role="other"))
