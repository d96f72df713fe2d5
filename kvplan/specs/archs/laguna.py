"""Laguna and Step-3.5: layers with head counts of their own, a gate on each head's output, one shared expert.

Source: transformers 5.24 models/laguna, models/step3p7 (Step3p7TextConfig); stepfun-ai/Step-3.5-Flash config.json.
"""

from collections.abc import Mapping

from kvplan.core.forms import ActivationForm
from kvplan.core.model import DenseFfn, Ffn, Layer, ModelSpec, MoeFfn
from kvplan.specs.config import Config
from kvplan.specs.parts.attention import Heads, layer_kinds, mixer, read_heads
from kvplan.specs.parts.blocks import linear
from kvplan.specs.parts.decoder import Style, assemble, completed, mixing_weights
from kvplan.specs.parts.experts import MoeStyle, dense_or_moe
from kvplan.specs.parts.forms import NORMED_ROTATION, moe_moments
from kvplan.specs.parts.mtp import n_next_token, next_token
from kvplan.specs.parts.sparse import by_kind, experts_per_token

MODEL_TYPES = ("laguna", "step3p5")

_DEFAULTS: Mapping[str, Mapping[str, object]] = {
    "laguna": {
        "num_key_value_heads": 8,
        "head_dim": 128,
        "sliding_window": 512,
        "moe_intermediate_size": 512,
        "shared_expert_intermediate_size": 512,
        "num_experts": 256,
        "num_experts_per_tok": 8,
        "max_position_embeddings": 131072,
    },
    "step3p5": {
        "num_key_value_heads": 8,
        "head_dim": 128,
        "moe_intermediate_size": 1280,
        "share_expert_dim": 1280,
        "n_routed_experts": 288,
        "num_experts_per_tok": 8,
        "max_position_embeddings": 128000,
    },
}
_STEP_NAMES = {
    "num_attention_groups": "num_key_value_heads",
    "moe_num_experts": "n_routed_experts",
    "moe_top_k": "num_experts_per_tok",
    "share_expert_dims": "share_expert_dim",
    "max_seq_len": "max_position_embeddings",
}


def build(cfg: Config) -> ModelSpec:
    """Laguna lists its heads layer by layer; Step has one number for sliding layers and one for full ones."""
    if cfg.text("model_type", default="laguna") == "laguna":
        return _laguna(completed(cfg, _DEFAULTS["laguna"]))
    return _step(completed(cfg.renamed(_STEP_NAMES), _DEFAULTS["step3p5"]))


def _laguna(cfg: Config) -> ModelSpec:
    n_layers, n_heads, bias = cfg.n_layers(), cfg.integer("num_attention_heads"), cfg.flag("attention_bias", default=False)
    kinds = layer_kinds(cfg, n_layers, ("full_attention",) * n_layers)
    counts = cfg.integers("num_attention_heads_per_layer", default=(n_heads,) * n_layers, least=1)
    alike = read_heads(cfg, cfg.integer("hidden_size"))
    heads = [alike._replace(n_heads=count) for count in cfg.per_layer("num_attention_heads_per_layer", n_layers, counts)]
    n_experts = cfg.integer("num_experts")
    moe = MoeFfn(
        n_experts,
        experts_per_token(cfg, "num_experts_per_tok", of=n_experts),
        cfg.integer("moe_intermediate_size"),
        cfg.integer("shared_expert_intermediate_size"),
    )
    ffns = by_kind(cfg, DenseFfn(cfg.integer("intermediate_size")), moe, ("dense", *("sparse",) * (n_layers - 1)))
    gate = "head" if cfg.data.get("gating", True) in (True, "per-head") else "element"
    style = Style(qkv_bias=bias, o_bias=bias, qk_norm="head", window=cfg.integer("sliding_window"))
    form = ActivationForm(
        attention=NORMED_ROTATION,
        moe=moe_moments(hidden="5H"),
        rotary_dim=cfg.integer("head_dim"),
        rope_tables=len(set(kinds)),
        checked=True,
    )
    layers = [_layer(cfg, style, MoeStyle(correction="parameter"), parts, gate=gate) for parts in zip(kinds, heads, ffns, strict=True)]
    return assemble(cfg, layers, style, form)


def _step(cfg: Config) -> ModelSpec:
    n_layers, bias = cfg.n_layers(), cfg.flag("attention_bias", default=False)
    n_next = n_next_token(cfg)
    kinds = _padded(cfg, "layer_types", ("full_attention",) * (n_layers + n_next))
    full = read_heads(cfg, cfg.integer("hidden_size"))
    other = cfg.sub("attention_other_setting").integer("num_attention_heads", default=full.n_heads)
    narrow = full._replace(n_heads=cfg.integer("num_sliding_attention_heads", default=other))
    heads = [narrow if kind == "sliding_attention" else full for kind in kinds]
    style = Style(qkv_bias=bias, o_bias=bias, qk_norm="head", window=cfg.optional_integer("sliding_window"))
    form = ActivationForm(rotary_dim=cfg.integer("head_dim"), rope_tables=len(set(kinds)), attention=NORMED_ROTATION)
    moe = MoeStyle(correction="buffer", mlp_bias=cfg.flag("mlp_bias", default=False))
    layers = [_layer(cfg, style, moe, parts, gate="head") for parts in zip(kinds, heads, _step_ffns(cfg, n_next), strict=True)]
    spec = assemble(cfg, layers[:n_layers], style, form)
    return spec._replace(mtp=tuple(run for layer in layers[n_layers:] for run in next_token(spec.hidden_size, layer, 1)))


def _step_ffns(cfg: Config, n_next: int) -> tuple[Ffn, ...]:
    """``mlp_layer_types``, else the layers that ``moe_layers_enum`` counts up, else all from layer 3 on, are mixtures."""
    n_layers, n_experts = cfg.n_layers(), cfg.integer("n_routed_experts")
    n_active = experts_per_token(cfg, "num_experts_per_tok", of=n_experts)
    moe = MoeFfn(n_experts, n_active, cfg.integer("moe_intermediate_size"), cfg.integer("share_expert_dim"))
    dense = DenseFfn(cfg.integer("intermediate_size"))
    listed = cfg.data.get("moe_layers_enum")
    if isinstance(listed, str):
        sparse = frozenset(int(word) for word in listed.replace(" ", "").split(",") if word.isdigit())
    else:
        sparse = frozenset(cfg.integers("moe_layers_enum", default=range(3, n_layers)))
    kinds = _padded(cfg, "mlp_layer_types", tuple("sparse" if i in sparse else "dense" for i in range(n_layers + n_next)))
    return tuple(dense if kind == "dense" else moe for kind in kinds)


def _padded(cfg: Config, key: str, default: tuple[str, ...]) -> tuple[str, ...]:
    """The list at ``key`` for all layers of ``default``; next-token layers that it leaves out are as in ``default``."""
    kinds, n_layers = cfg.texts(key, default=default), cfg.n_layers()
    if len(kinds) != len(default):
        kinds = (*cfg.per_layer(key, n_layers, kinds), *cfg.texts(f"mtp_{key}", default=default[n_layers:]))
    return kinds


def _layer(cfg: Config, style: Style, moe: MoeStyle, parts: tuple[str, Heads, Ffn], *, gate: str) -> Layer:
    kind, heads, ffn = parts
    hidden = cfg.integer("hidden_size")
    width = heads.n_heads if gate == "head" else heads.n_heads * heads.head_dim
    gates = linear("self_attn.g_proj", width, hidden, role="attention", shard="column")
    weights = (*mixing_weights(hidden, heads, style), *gates, *dense_or_moe(hidden, ffn, moe))
    return Layer((mixer(kind, heads, cfg, window=style.window),), (ffn,), weights)
