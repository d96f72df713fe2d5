"""dots3's text model: gated latent attention, in most layers over a window with ranks of its own, elsewhere with an indexer.

Source: transformers 5.24 models/dots3_note.
"""

from collections.abc import Mapping

from kvplan.core.forms import ActivationForm
from kvplan.core.mixers import Mla
from kvplan.core.model import DenseFfn, Ffn, Layer, ModelSpec, MoeFfn
from kvplan.specs.config import Config
from kvplan.specs.parts.blocks import linear, norm
from kvplan.specs.parts.decoder import Style, assemble, completed
from kvplan.specs.parts.experts import dense_or_moe
from kvplan.specs.parts.forms import moe_moments
from kvplan.specs.parts.hybrid import read_kinds
from kvplan.specs.parts.indexing import read_indexer
from kvplan.specs.parts.latent import DEEPSEEK_MOE, block_norms, mla_weights, paired, read_mla
from kvplan.specs.parts.mtp import n_next_token, next_token, own_embeddings
from kvplan.specs.parts.per_layer import overrides
from kvplan.specs.parts.sparse import by_kind, experts_per_token

MODEL_TYPES = ("dots3_note_text",)

SLIDING, FULL, INDEXED = "sliding_attention", "full_attention", "indexed_attention"
DEFAULTS: Mapping[str, object] = {
    "vocab_size": 152064,
    "hidden_size": 5120,
    "intermediate_size": 13824,
    "num_hidden_layers": 46,
    "num_attention_heads": 128,
    "moe_intermediate_size": 1536,
    "n_routed_experts": 256,
    "n_shared_experts": 1,
    "num_experts_per_tok": 8,
    "kv_lora_rank": 512,
    "q_lora_rank": 1024,
    "qk_rope_head_dim": 64,
    "qk_nope_head_dim": 128,
    "v_head_dim": 128,
    "index_topk": 2048,
    "index_head_dim": 128,
    "index_n_heads": 64,
    "first_k_dense_replace": 1,
    "max_position_embeddings": 524288,
}
WINDOWED = {
    "num_attention_heads": 64,
    "q_lora_rank": 1024,
    "kv_lora_rank": 1024,
    "head_dim": 256,
    "qk_nope_head_dim": 192,
    "v_head_dim": 128,
}
"""What a windowed layer has where neither ``per_layer_config`` nor a key with the prefix ``swa_`` says otherwise."""

OVERRIDES = (*WINDOWED, "num_key_value_heads", "qk_rope_head_dim", "sliding_window")


def build(cfg: Config) -> ModelSpec:
    """``use_dsa`` gives the layers that see all tokens an indexer; a config with ``per_layer_config`` names them itself.

    The next-token layer has a window and a dense feed-forward, and is stored with embeddings of its own.
    """
    cfg = completed(cfg.renamed({"num_local_experts": "n_routed_experts"}), DEFAULTS)
    kinds, ffns = _kinds(cfg), _ffns(cfg)
    mixers = [_mixer(cfg, kind, own) for kind, own in zip(kinds, overrides(cfg, cfg.n_layers(), OVERRIDES), strict=True)]
    layers = paired(mixers, ffns, lambda mixer, ffn: _layer(cfg, mixer, ffn))
    rotary = max(mixer.rope_head_dim for mixer in mixers)
    form = ActivationForm(rotary_dim=rotary or None, rope_tables=len(set(kinds)), moe=moe_moments(float32=True))
    drafting = _layer(
        cfg, next((mla for mla in reversed(mixers) if mla.window_tokens), mixers[-1]), DenseFfn(cfg.integer("intermediate_size"))
    )
    mtp = next_token(cfg.integer("hidden_size"), drafting, n_next_token(cfg, default=1), own=own_embeddings(cfg))
    return assemble(cfg, layers, Style(), form)._replace(mtp=mtp)


def _kinds(cfg: Config) -> tuple[str, ...]:
    chooses = cfg.has("use_dsa") or not cfg.has("per_layer_config")
    indexed, windowed = cfg.flag("use_dsa", default=True), cfg.flag("use_sliding_window", default=True)
    default = [SLIDING if windowed and i >= 2 and i % 4 != 1 else INDEXED if indexed else FULL for i in range(cfg.n_layers())]
    kinds = read_kinds(cfg, (SLIDING, FULL, INDEXED), default)
    return tuple(kind if kind == SLIDING else INDEXED if indexed else FULL for kind in kinds) if chooses else kinds


def _ffns(cfg: Config) -> tuple[Ffn, ...]:
    """``moe_layer_freq`` is a rhythm or a list that says for each layer whether it may have a mixture."""
    n_layers, first, key = cfg.n_layers(), cfg.integer("first_k_dense_replace", least=0), "moe_layer_freq"
    listed = isinstance(cfg.data.get(key), list)
    may = cfg.integers(key) if listed else [int(i % cfg.integer(key, default=1) == 0) for i in range(n_layers)]
    default = ["sparse" if i >= first and flag else "dense" for i, flag in enumerate(cfg.per_layer(key, n_layers, may))]
    n_experts = cfg.integer("n_routed_experts")
    shared = cfg.integer("moe_shared_expert_intermediate_size", "shared_experts_intermediate_size", default=1536)
    active = experts_per_token(cfg, "num_experts_per_tok", of=n_experts)
    moe = MoeFfn(n_experts, active, cfg.integer("moe_intermediate_size"), shared * cfg.integer("n_shared_experts"))
    return by_kind(cfg, DenseFfn(cfg.integer("intermediate_size")), moe, default)


def _mixer(cfg: Config, kind: str, own: Mapping[str, object]) -> Mla:
    """The attention of a layer that overrides ``own`` keys of the config."""
    if kind == SLIDING and not cfg.has("per_layer_config"):
        swa = {key: cfg.integer(f"swa_{key}", default=value) for key, value in WINDOWED.items()}
        rope = swa["head_dim"] - swa["qk_nope_head_dim"]
        own = {**swa, "qk_rope_head_dim": cfg.integer("swa_qk_rope_head_dim", default=rope)}
    layer_cfg = Config({**cfg.data, **own}, where=cfg.where, path=cfg.path)
    if layer_cfg.optional_integer("q_lora_rank") is None:
        raise cfg.error("q_lora_rank", "expected a rank: the class has no plain query projection")
    if kind != SLIDING:
        return read_mla(layer_cfg, indexer=read_indexer(layer_cfg) if kind == INDEXED else None)
    window = layer_cfg.integer("sliding_window", "sliding_window_size", default=512)
    return read_mla(layer_cfg)._replace(window_tokens=window)


def _layer(cfg: Config, mla: Mla, ffn: DenseFfn | MoeFfn) -> Layer:
    hidden = cfg.integer("hidden_size")
    weights = (
        *block_norms(hidden),
        *mla_weights(hidden, mla, bias=cfg.flag("attention_bias", default=False)),
        *norm("self_attn.k_rope_only_layernorm", mla.rope_head_dim),
        *linear("self_attn.g_proj", mla.n_heads, hidden, role="attention", shard="column"),
        *dense_or_moe(hidden, ffn, DEEPSEEK_MOE),
    )
    return Layer((mla,), (ffn,), weights)
