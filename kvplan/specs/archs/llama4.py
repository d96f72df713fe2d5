"""Llama 4's text model: three of four layers see their own chunk of 8192 tokens, the fourth everything and no positions.

Source: transformers 5.24 models/llama4 (Llama4TextConfig, Llama4ForCausalLM); Meta 2025, Llama 4 model card.
"""

from collections.abc import Mapping

from kvplan.core.forms import ActivationForm
from kvplan.core.model import DenseFfn, ModelSpec, MoeFfn
from kvplan.specs.config import Config
from kvplan.specs.parts.decoder import Style, completed, rotary_width
from kvplan.specs.parts.experts import MoeStyle
from kvplan.specs.parts.sparse import experts_per_token, sparse_decoder

MODEL_TYPES = ("llama4_text",)

_DEFAULTS: Mapping[str, object] = {
    "num_key_value_heads": 8,
    "head_dim": 128,
    "intermediate_size_mlp": 16384,
    "num_local_experts": 16,
    "num_experts_per_tok": 1,
    "interleave_moe_layer_step": 1,
    "no_rope_layer_interval": 4,
    "attention_chunk_size": 8192,
    "max_position_embeddings": 131072,
}


def build(cfg: Config) -> ModelSpec:
    """Without mixtures (Llama Guard 4) the keys that speak of experts are 0."""
    cfg = completed(cfg, _DEFAULTS)
    n_layers, dense = cfg.n_layers(), DenseFfn(cfg.integer("intermediate_size_mlp"))
    sparse = _moe_layers(cfg, n_layers)
    moe = _experts(cfg) if sparse else None
    bias = cfg.flag("attention_bias", default=False)
    style = Style(qkv_bias=bias, o_bias=bias, window=cfg.optional_integer("attention_chunk_size"), kinds=_kinds(cfg, n_layers))
    mixture = MoeStyle(name="feed_forward", router="router", shared="shared_expert")
    ffns = tuple(moe if moe and i in sparse else dense for i in range(n_layers))
    form = ActivationForm(
        moe=("5H + EH + 4EM + 2E",),
        rotary_dim=rotary_width(cfg),
        gathers_experts=False,
        masks_each=True,
        merges_experts=False,
        checked=True,
    )
    return sparse_decoder(cfg, style, ffns, mixture, form)


def _experts(cfg: Config) -> MoeFfn:
    """A mixture, whose experts and the shared one are ``intermediate_size`` wide; dense layers are ``intermediate_size_mlp``."""
    width, n_experts = cfg.integer("intermediate_size"), cfg.integer("num_local_experts")
    return MoeFfn(n_experts, experts_per_token(cfg, "num_experts_per_tok", of=n_experts), width, width)


def _moe_layers(cfg: Config, n_layers: int) -> frozenset[int]:
    """The layers that are mixtures: ``moe_layers``, else every ``interleave_moe_layer_step``-th."""
    if cfg.has("moe_layers"):
        return frozenset(cfg.integers("moe_layers"))
    step = cfg.integer("interleave_moe_layer_step")
    return frozenset(range(step - 1, n_layers, step))


def _kinds(cfg: Config, n_layers: int) -> tuple[str, ...]:
    """Layers with rotary positions are chunked, those without see everything; without a chunk size all do."""
    every = cfg.integer("no_rope_layer_interval")
    rotary = cfg.integers("no_rope_layers", default=()) or tuple(int((i + 1) % every != 0) for i in range(n_layers))
    chunked = cfg.optional_integer("attention_chunk_size") is not None
    return tuple("chunked_attention" if on and chunked else "full_attention" for on in cfg.per_layer("no_rope_layers", n_layers, rotary))
