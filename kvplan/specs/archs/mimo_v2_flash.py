"""MiMo-V2-Flash: keys wider than values, sliding layers with twice the KV heads and with sinks, a mixture in all but layer 0.

Source: transformers 5.24 models/mimo_v2_flash; XiaomiMiMo/MiMo-V2-Flash config.json for the keys of the first release.
"""

from collections.abc import Mapping

from kvplan.core.forms import ActivationForm
from kvplan.core.mixers import FullAttention, SlidingAttention
from kvplan.core.model import DenseFfn, Ffn, Layer, ModelSpec, MoeFfn
from kvplan.specs.config import Config
from kvplan.specs.parts.attention import Heads, attention, layer_kinds
from kvplan.specs.parts.blocks import Groups, norm, vector
from kvplan.specs.parts.decoder import Style, assemble, completed, rotary_dim
from kvplan.specs.parts.experts import MoeStyle, dense_or_moe
from kvplan.specs.parts.forms import moe_moments
from kvplan.specs.parts.mtp import n_next_token, next_token
from kvplan.specs.parts.sparse import by_kind, experts_per_token

MODEL_TYPES = ("mimo_v2_flash",)

_DEFAULTS: Mapping[str, object] = {
    "num_key_value_heads": 4,
    "head_dim": 192,
    "v_head_dim": 128,
    "n_routed_experts": 256,
    "num_experts_per_tok": 8,
    "moe_intermediate_size": 2048,
    "max_position_embeddings": 131072,
}
_KINDS = ("full_attention", "sliding_attention")
_ROTARY = 0.334
_N_NEXT = 3  # no key counts the next-token layers of the checkpoint, each with a window and a dense feed-forward


def build(cfg: Config) -> ModelSpec:
    """Full attention in layer 0 and every sixth; the first release lists layers as numbers and counts its window one short."""
    cfg = completed(cfg.renamed({"num_local_experts": "n_routed_experts"}), _DEFAULTS)
    hidden, n_layers = cfg.integer("hidden_size"), cfg.n_layers()
    default = tuple("full_attention" if i == 0 or (i + 1) % 6 == 0 else "sliding_attention" for i in range(n_layers))
    kinds = layer_kinds(cfg, n_layers, _numbered(cfg, "hybrid_layer_pattern", _KINDS) or default)
    mixing = {kind: _attention(cfg, hidden, kind) for kind in kinds}
    moe = MoeStyle(router_dtype="float32", correction="buffer", correction_dtype="float32")
    made = {}
    for kind, ffn in zip(kinds, _ffns(cfg), strict=True):
        mixer, weights = mixing[kind]
        made[kind, ffn] = Layer((mixer,), (ffn,), (*weights, *dense_or_moe(hidden, ffn, moe)))
    layers = [made[pair] for pair in zip(kinds, _ffns(cfg), strict=True)]
    width = rotary_dim(cfg, cfg.integer("head_dim"), default=_ROTARY)
    form = ActivationForm(rotary_dim=width, rope_tables=2, eager_only=True, moe=moe_moments(float32=True), checked=True)
    mixer, weights = _attention(cfg, hidden, "sliding_attention")
    dense = DenseFfn(cfg.integer("intermediate_size"))
    drafting = Layer((mixer,), (dense,), (*weights, *dense_or_moe(hidden, dense, moe)))
    return assemble(cfg, layers, Style(), form)._replace(mtp=next_token(hidden, drafting, n_next_token(cfg, default=_N_NEXT)))


def _numbered(cfg: Config, key: str, names: tuple[str, str]) -> tuple[str, ...] | None:
    """The list of zeros and ones at ``key`` as ``names``, if there is one."""
    if not cfg.has(key):
        return None
    return tuple(names[bool(number)] for number in cfg.per_layer(key, cfg.n_layers(), cfg.integers(key)))


def _ffns(cfg: Config) -> tuple[Ffn, ...]:
    n_experts = cfg.integer("n_routed_experts")
    n_active = experts_per_token(cfg, "num_experts_per_tok", of=n_experts)
    moe = MoeFfn(n_experts, n_active, cfg.integer("moe_intermediate_size"))
    default = _numbered(cfg, "moe_layer_freq", ("dense", "sparse")) or ("dense", *("sparse",) * (cfg.n_layers() - 1))
    return by_kind(cfg, DenseFfn(cfg.integer("intermediate_size")), moe, default)


def _attention(cfg: Config, hidden: int, kind: str) -> tuple[FullAttention | SlidingAttention, Groups]:
    """Mixer and weights of one kind of layer; the ``swa_`` keys are those of sliding ones."""
    sliding = kind == "sliding_attention"
    n_kv_heads, v_head_dim = cfg.integer("num_key_value_heads"), cfg.integer("v_head_dim")
    own = "swa_" if sliding else ""
    heads = Heads(
        cfg.integer(f"{own}num_attention_heads", "num_attention_heads"),
        cfg.integer("swa_num_key_value_heads", default=2 * n_kv_heads) if sliding else n_kv_heads,
        cfg.integer(f"{own}head_dim", "head_dim"),
        cfg.integer(f"{own}v_head_dim", default=v_head_dim),
    )
    flag, usual = ("add_swa_attention_sink_bias", True) if sliding else ("add_full_attention_sink_bias", False)
    sinks = vector("self_attn.sinks", heads.n_heads, role="attention") if cfg.flag(flag, default=usual) else ()
    norms = (*norm("input_layernorm", hidden), *norm("post_attention_layernorm", hidden))
    weights = (*norms, *attention(hidden, heads, qkv_bias=cfg.flag("attention_bias", default=False)), *sinks)
    return (SlidingAttention(*heads, _window(cfg)) if sliding else FullAttention(*heads)), weights


def _window(cfg: Config) -> int:
    """The first release's ``sliding_window_size`` doesn't count the token itself."""
    return cfg.integer("sliding_window_size") + 1 if cfg.has("sliding_window_size") else cfg.integer("sliding_window", default=129)
