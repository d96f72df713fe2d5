"""Trinity (AFMoE), Beam and Kolibri: mixtures with norms before and after both blocks, most layers sliding.

AFMoE and Beam gate the attention's output by a projection of its input; Beam adds a bias per head.
Source: transformers 5.24 models/afmoe, models/beam, models/kolibri1.
"""

from collections.abc import Mapping

from kvplan.core.forms import ActivationForm
from kvplan.core.model import DenseFfn, Ffn, ModelSpec, MoeFfn
from kvplan.specs.config import MAX_LAYERS, Config
from kvplan.specs.parts.attention import Heads, read_heads
from kvplan.specs.parts.blocks import Groups, linear, periodic, vector
from kvplan.specs.parts.decoder import Style, completed, rotary_width
from kvplan.specs.parts.experts import MoeStyle
from kvplan.specs.parts.forms import NORMED_ROTATION, moe_moments
from kvplan.specs.parts.sparse import by_kind, experts_per_token, first_dense, sparse_decoder

MODEL_TYPES = ("afmoe", "beam", "kolibri1")

_DEFAULTS: Mapping[str, Mapping[str, object]] = {
    "afmoe": {
        "head_dim": 128,
        "sliding_window": 1024,
        "global_attn_every_n_layers": 4,
        "num_dense_layers": 1,
        "moe_intermediate_size": 1408,
        "num_experts": 64,
        "num_experts_per_tok": 6,
        "num_shared_experts": 2,
        "max_position_embeddings": 16384,
    },
    "beam": {
        "num_key_value_heads": 8,
        "head_dim": 128,
        "sliding_window": 512,
        "moe_intermediate_size": 2560,
        "num_experts": 256,
        "num_experts_per_tok": 8,
        "max_position_embeddings": 8192,
    },
    "kolibri1": {
        "num_key_value_heads": 4,
        "head_dim": 128,
        "sliding_window": 513,
        "moe_intermediate_size": 512,
        "shared_expert_intermediate_size": 512,
        "num_experts": 384,
        "num_experts_per_tok": 6,
        "max_position_embeddings": 262144,
    },
}
_NORMS = {
    "afmoe": ("input_layernorm", "post_attention_layernorm", "pre_mlp_layernorm", "post_mlp_layernorm"),
    "beam": ("input_layernorm", "post_attention_layernorm", "pre_feedforward_layernorm", "post_feedforward_layernorm"),
    "kolibri1": ("input_layernorm", "post_self_attn_layernorm", "post_attention_layernorm", "post_mlp_layernorm"),
}
_MOE = {
    "afmoe": MoeStyle(router="router.gate", correction="parameter", correction_dtype="float32"),
    "beam": MoeStyle(router_dtype="float32", correction="buffer", correction_dtype="float32"),
    "kolibri1": MoeStyle(correction="buffer", correction_dtype="float32"),
}


def build(cfg: Config) -> ModelSpec:
    """Full attention in every fourth (AFMoE), sixth and the last (Beam) or fifth (Kolibri) layer where nothing else is said."""
    model_type = cfg.text("model_type", default="afmoe")
    cfg = completed(cfg.renamed({"num_local_experts": "num_experts"}), _DEFAULTS[model_type])
    bias = model_type != "kolibri1" and cfg.flag("attention_bias", default=False)
    style = Style(
        qkv_bias=bias,
        o_bias=bias,
        qk_norm="head",
        layer_norms=_NORMS[model_type],
        window=cfg.optional_integer("sliding_window"),
        kinds=_kinds(cfg, model_type),
    )
    heads = read_heads(cfg, cfg.integer("hidden_size"))
    form = ActivationForm(
        core="3H + 2Q" if model_type == "afmoe" else "3H + Q",
        attention=NORMED_ROTATION,
        moe=moe_moments(hidden="5H" if model_type == "afmoe" else "4H", float32=True),
        logits="W + 2fW" if model_type == "beam" else "W",
        rotary_dim=rotary_width(cfg),
        rope_float32=model_type == "beam",
        checked=True,
    )
    return sparse_decoder(cfg, style, _ffns(cfg, model_type), _MOE[model_type], form, _gate(cfg, model_type, heads))


def _kinds(cfg: Config, model_type: str) -> tuple[str, ...]:
    every = {"afmoe": cfg.integer("global_attn_every_n_layers", default=4, most=MAX_LAYERS), "beam": 6, "kolibri1": 5}[model_type]
    kinds = periodic(cfg.n_layers(), (*("sliding_attention",) * (every - 1), "full_attention"))
    return (*kinds[:-1], "full_attention") if model_type == "beam" else kinds


def _ffns(cfg: Config, model_type: str) -> tuple[Ffn, ...]:
    n_layers, width, n_experts = cfg.n_layers(), cfg.integer("moe_intermediate_size"), cfg.integer("num_experts")
    moe = MoeFfn(n_experts, experts_per_token(cfg, "num_experts_per_tok", of=n_experts), width)
    if model_type == "kolibri1":
        return (moe._replace(shared_intermediate=cfg.integer("shared_expert_intermediate_size")),) * n_layers
    dense = DenseFfn(cfg.integer("intermediate_size"))
    if model_type == "beam":
        return by_kind(cfg, dense, moe, tuple("dense" if i < 3 else "sparse" for i in range(n_layers)))
    moe = moe._replace(shared_intermediate=width * cfg.integer("num_shared_experts", least=0))
    return first_dense(n_layers, cfg.integer("num_dense_layers", least=0), dense, moe)


def _gate(cfg: Config, model_type: str, heads: Heads) -> Groups:
    """The projection that gates the attention's output."""
    if model_type == "kolibri1":
        return ()
    width = heads.n_heads * heads.head_dim
    gate = linear("self_attn.gate_proj", width, cfg.integer("hidden_size"), role="attention", shard="column")
    return (*gate, *(vector("self_attn.gate_bias", heads.n_heads, role="attention") if model_type == "beam" else ()))
