"""Dory: a decoder whose middle layers run several times, with normalized weights and gated attention.

Source: transformers 5.24 models/dory.
"""

from kvplan.core.model import ActivationForm, DenseFfn, Layer, ModelSpec
from kvplan.specs.attention import Heads, attention, layer_kinds, mixer, read_heads
from kvplan.specs.blocks import Groups, gated_mlp, linear, periodic, vector
from kvplan.specs.config import Config
from kvplan.specs.decoder import Style, assemble

MODEL_TYPES = ("dory",)

_DEFAULTS: dict[str, object] = {
    "vocab_size": 131072,
    "hidden_size": 2560,
    "intermediate_size": 7168,
    "num_hidden_layers": 36,
    "num_attention_heads": 16,
    "num_key_value_heads": 4,
    "head_dim": 256,
    "max_position_embeddings": 8192,
    "n_input_layers": 8,
    "n_output_layers": 8,
}
_COUNTS = ("num_hidden_layers", "n_input_layers", "n_recurrent_layers", "n_output_layers")


def build(cfg: Config) -> ModelSpec:
    """A repeated layer keeps keys and values of each of its passes, or of the last alone (``recurrent_kv_cache_mode``)."""
    cfg = _whole_layers(cfg.with_defaults(_DEFAULTS))
    hidden, intermediate, n_layers = cfg.integer("hidden_size"), cfg.integer("intermediate_size"), cfg.n_layers()
    heads = read_heads(cfg, hidden)
    every = layer_kinds(cfg, n_layers, periodic(n_layers, ("sliding_attention",) * 3 + ("full_attention",)))
    window = cfg.integer("sliding_window", default=1024)
    weights = _weights(cfg, hidden, heads, intermediate)
    passes = _passes(cfg, n_layers)
    ffns = (DenseFfn(intermediate),)
    layers = [Layer((mixer(kind, heads, cfg, window=window),) * n, ffns, weights) for kind, n in zip(every, passes, strict=True)]
    form = ActivationForm(rotary_dim=heads.head_dim, rope_tables=len(set(every)), qk_norm=True)
    spec = assemble(cfg, layers, Style(final_norm=False), form)
    return spec._replace(weights=(*spec.weights, *vector("lm_head.logit_scale", cfg.integer("vocab_size"), role="lm_head")))


def _whole_layers(cfg: Config) -> Config:
    """``cfg`` counting attention and feed-forward as one layer; a saved config counts them as two, and lists both kinds."""
    kinds = cfg.texts("layer_types", default=())
    if "mlp" not in kinds:
        return cfg
    if any(kind != "mlp" for kind in kinds[1::2]) or len(kinds) % 2:
        raise cfg.error("layer_types", "expected 'mlp' as each second item")
    halved = {key: cfg.integer(key, least=0) // 2 for key in _COUNTS if cfg.has(key)}
    return Config({**cfg.data, **halved, "layer_types": list(kinds[::2])}, where=cfg.where, path=cfg.path)


def _passes(cfg: Config, n_layers: int) -> list[int]:
    """How many caches each layer keeps: one, or one for each pass over a repeated layer."""
    n_first, n_last = cfg.integer("n_input_layers", least=0), cfg.integer("n_output_layers", least=0)
    n_repeated = cfg.integer("n_recurrent_layers", default=max(0, n_layers - n_first - n_last), least=0)
    if n_first + n_repeated + n_last != n_layers:
        raise cfg.error("n_recurrent_layers", f"expected input, recurrent and output layers that sum to {n_layers}")
    mode = cfg.text("recurrent_kv_cache_mode", default="per_loop")
    if mode not in ("per_loop", "last_loop"):
        raise cfg.error("recurrent_kv_cache_mode", f"expected per_loop or last_loop, found '{mode}'")
    n_caches = cfg.integer("n_recurrent_loops", default=2) if mode == "per_loop" else 1
    return [1] * n_first + [n_caches] * n_repeated + [1] * n_last


def _weights(cfg: Config, hidden: int, heads: Heads, intermediate: int) -> Groups:
    """One layer: no norm has weights; scales of queries, gates, feed-forward and both steps along the residual do."""
    bias, wide = cfg.flag("attention_bias", default=False), heads.n_heads * heads.head_dim
    scales = (
        ("sqk", wide),
        ("s_gate", wide),
        ("suv_gate", intermediate),
        ("suv_up", intermediate),
        ("lambda_1", hidden),
        ("lambda_2", hidden),
    )
    return (
        *attention(hidden, heads, qkv_bias=bias, o_bias=bias),
        *linear("self_attn.gate_proj", wide, hidden, role="attention", shard="column"),
        *gated_mlp(hidden, intermediate, bias=cfg.flag("mlp_bias", default=False)),
        *(group for name, size in scales for group in vector(name, size, role="other")),
    )
