"""MiniMax-Text-01 and M1: lightning attention with a gate and a norm in most layers, full attention in the others.

Source: transformers 5.24 models/minimax; MiniMaxAI/MiniMax-Text-01 modeling_minimax_text_01.py; MiniMax-01, arXiv:2501.08313 §2.
"""

from collections.abc import Mapping

from kvplan.core.forms import ActivationForm
from kvplan.core.mixers import LinearAttention
from kvplan.core.model import Layer, ModelSpec, MoeFfn
from kvplan.specs.config import Config
from kvplan.specs.parts.attention import Heads, attention, full, read_heads, sliding
from kvplan.specs.parts.blocks import Groups, linear, norm, periodic
from kvplan.specs.parts.decoder import Style, assemble, completed, rotary_dim
from kvplan.specs.parts.experts import MoeStyle, moe
from kvplan.specs.parts.forms import moe_moments
from kvplan.specs.parts.sparse import experts_per_token

MODEL_TYPES = ("minimax", "minimax_text_01", "minimax_m1")

_DEFAULTS: Mapping[str, object] = {"num_local_experts": 8, "num_experts_per_tok": 2, "max_position_embeddings": 131072}


def build(cfg: Config) -> ModelSpec:
    """Which layers are linear: ``layer_types``, else ``attn_type_list`` (0 linear, 1 full), else every second (``minimax``)."""
    own = cfg.text("model_type", default="minimax") != "minimax"
    cfg = completed(cfg.renamed({"num_experts": "num_local_experts"}), _DEFAULTS)
    hidden, n_experts = cfg.integer("hidden_size"), cfg.integer("num_local_experts")
    heads = read_heads(cfg, hidden, n_kv_heads=8)
    shared = cfg.integer("shared_intermediate_size", default=0, least=0) if own else 0
    n_active = experts_per_token(cfg, "num_experts_per_tok", of=n_experts)
    ffn = MoeFfn(n_experts, n_active, cfg.integer("intermediate_size"), shared)
    mixture = moe(hidden, ffn, MoeStyle(name="block_sparse_moe", shared="shared_mlp", shared_gate=shared > 0))
    norms = (*norm("input_layernorm", hidden), *norm("post_attention_layernorm", hidden))
    window = cfg.optional_integer("sliding_window")
    layers = {
        "full_attention": Layer(
            (sliding(heads, window) if window else full(heads),), (ffn,), (*norms, *attention(hidden, heads), *mixture)
        ),
        "linear_attention": Layer(
            (LinearAttention(heads.n_heads, heads.head_dim, heads.head_dim),), (ffn,), (*norms, *_lightning(hidden, heads), *mixture)
        ),
    }
    rotated = cfg.integer("rotary_dim", default=rotary_dim(cfg, heads.head_dim))
    form = ActivationForm(moe=moe_moments(hidden="3H"), rotary_dim=rotated, checked=not own)
    return assemble(cfg, [layers[kind] for kind in _kinds(cfg, own=own)], Style(), form)


def _kinds(cfg: Config, *, own: bool) -> tuple[str, ...]:
    n_layers = cfg.n_layers()
    if cfg.has("layer_types") or not (own or cfg.has("attn_type_list")):
        kinds = cfg.texts("layer_types", default=periodic(n_layers, ("full_attention", "linear_attention")))
        strange = next((kind for kind in kinds if kind not in ("full_attention", "linear_attention")), None)
        if strange:
            raise cfg.error("layer_types", f"unknown kind of layer '{strange}'", hint="known: full_attention, linear_attention")
        return tuple(cfg.per_layer("layer_types", n_layers, kinds))
    numbers = cfg.per_layer("attn_type_list", n_layers, cfg.integers("attn_type_list"))
    return tuple("full_attention" if number else "linear_attention" for number in numbers)


def _lightning(hidden: int, heads: Heads) -> Groups:
    """Queries, keys and values in one projection, all heads their own; the output is normalized, gated and projected."""
    inner = heads.n_heads * heads.head_dim
    return (
        *linear("self_attn.qkv_proj", 3 * inner, hidden, role="mixer", shard="column"),
        *linear("self_attn.output_gate", inner, hidden, role="mixer", shard="column"),
        *linear("self_attn.out_proj", hidden, inner, role="mixer", shard="row"),
        *norm("self_attn.norm", inner),
    )
