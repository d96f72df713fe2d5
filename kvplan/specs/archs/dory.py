"""Dory and HRM-Text: decoders that run some of their layers several times, with a cache for each run.

A repeated run is a layer that keeps keys and values and has no weights of its own.

Source: transformers 5.24 models/{dory,hrm_text}; Loshchilov et al. 2024, arXiv:2410.01131 §2 (nGPT);
Wang et al. 2025, arXiv:2506.21734 §3 (HRM).
"""

from kvplan.core.forms import ActivationForm
from kvplan.core.model import DenseFfn, Layer, ModelSpec
from kvplan.specs.config import MAX_LAYERS, Config
from kvplan.specs.parts.attention import Heads, attention, full, layer_kinds, mixer, read_heads
from kvplan.specs.parts.blocks import Groups, gated_mlp, linear, periodic, vector
from kvplan.specs.parts.decoder import Style, assemble, completed
from kvplan.specs.parts.forms import NORMED_ROTATION

MODEL_TYPES = ("dory", "hrm_text")

_CLASS: dict[str, dict[str, object]] = {
    "dory": {
        **{"vocab_size": 131072, "hidden_size": 2560, "intermediate_size": 7168, "num_hidden_layers": 36, "num_attention_heads": 16},
        **{"num_key_value_heads": 4, "head_dim": 256, "max_position_embeddings": 8192, "sliding_window": 1024},
        **{"n_input_layers": 8, "n_output_layers": 8, "n_recurrent_loops": 2, "recurrent_kv_cache_mode": "per_loop"},
    },
    "hrm_text": {
        **{"vocab_size": 151808, "hidden_size": 1536, "intermediate_size": 4096, "num_hidden_layers": 16, "num_attention_heads": 12},
        **{"head_dim": 128, "max_position_embeddings": 2048, "H_cycles": 2, "L_cycles": 3},
    },
}
_STYLE = Style(norm_weight=False)
_KINDS = (*3 * ("sliding_attention",), "full_attention")


def build(cfg: Config) -> ModelSpec:
    """Both gate their attention and normalize without weights."""
    model_type = cfg.text("model_type")
    cfg = completed(cfg, _CLASS[model_type])
    heads = read_heads(cfg, cfg.integer("hidden_size"))
    form = ActivationForm(rotary_dim=heads.head_dim)
    if model_type == "dory":
        spec = assemble(cfg, _dory(cfg, heads), _STYLE, form._replace(attention=NORMED_ROTATION, rope_tables=2))
        return spec._replace(weights=(*spec.weights, *vector("lm_head.logit_scale", spec.vocab_size, role="lm_head")))
    heads = Heads(heads.n_heads, heads.n_heads, heads.head_dim, heads.v_head_dim)
    spec = assemble(cfg, _hrm(cfg, heads), _STYLE, form)
    return spec._replace(weights=(*spec.weights, *vector("z_L_init", spec.hidden_size, role="other")))


def _block(cfg: Config, heads: Heads, *, gate_bias: bool) -> Groups:
    """Attention with an output gate, and the feed-forward."""
    hidden, bias = cfg.integer("hidden_size"), cfg.flag("attention_bias", default=False)
    return (
        *attention(hidden, heads, qkv_bias=bias, o_bias=bias),
        *linear("self_attn.gate_proj", heads.n_heads * heads.head_dim, hidden, role="attention", shard="column", bias=gate_bias and bias),
        *gated_mlp(hidden, cfg.integer("intermediate_size"), bias=cfg.flag("mlp_bias", default=False)),
    )


def _dory(cfg: Config, heads: Heads) -> list[Layer]:
    """Input layers, the recurrent ones once per loop, output layers; ``last_loop`` keeps the cache of one loop only."""
    n_layers, first, last = cfg.n_layers(), cfg.integer("n_input_layers", least=0), cfg.integer("n_output_layers", least=0)
    kinds = layer_kinds(cfg, n_layers, periodic(n_layers, _KINDS))
    n_recurrent = cfg.integer("n_recurrent_layers", default=max(0, n_layers - first - last), least=0)
    if "mlp" in kinds:  # published files list each layer's two blocks apart
        kinds, n_layers, first, last, n_recurrent = kinds[::2], n_layers // 2, first // 2, last // 2, n_recurrent // 2
    if first + n_recurrent + last > n_layers:
        raise cfg.error("n_recurrent_layers", f"expected at most {n_layers - first - last} between input and output layers")
    mode = cfg.text("recurrent_kv_cache_mode")
    if mode not in ("per_loop", "last_loop"):
        raise cfg.error("recurrent_kv_cache_mode", f"expected per_loop or last_loop, found '{mode}'")
    width, inner = cfg.integer("intermediate_size"), heads.n_heads * heads.head_dim
    hidden = cfg.integer("hidden_size")
    scales = {"lambda_1": hidden, "lambda_2": hidden, "self_attn.sqk": inner, "self_attn.s_gate": inner}
    scales = {**scales, "mlp.suv_gate": width, "mlp.suv_up": width}
    weights = (*_block(cfg, heads, gate_bias=False), *(g for name, size in scales.items() for g in vector(name, size, role="other")))
    window = cfg.integer("sliding_window")
    layers = [Layer((mixer(kind, heads, cfg, window=window),), (DenseFfn(width),), weights) for kind in kinds]
    repeated = [layer._replace(weights=()) for layer in layers[first : first + n_recurrent]]
    n_more = cfg.integer("n_recurrent_loops", most=MAX_LAYERS // max(1, n_recurrent)) - 1 if mode == "per_loop" else 0
    return [*layers[: first + n_recurrent], *repeated * n_more, *layers[first + n_recurrent :]]


def _hrm(cfg: Config, heads: Heads) -> list[Layer]:
    """``H_cycles`` times: the lower stack ``L_cycles`` times, then the higher one.

    A saved config counts every run of every layer in ``num_hidden_layers`` and names ``num_layers_per_stack``.
    """
    n_stack = cfg.integer("num_layers_per_stack", "num_hidden_layers", most=MAX_LAYERS)
    layer = Layer((full(heads),), (DenseFfn(cfg.integer("intermediate_size")),), _block(cfg, heads, gate_bias=True))
    first, again = [layer] * n_stack, [layer._replace(weights=())] * n_stack
    n_low = cfg.integer("L_cycles", most=MAX_LAYERS // n_stack)
    n_high = cfg.integer("H_cycles", most=max(1, MAX_LAYERS // (n_stack * (n_low + 1))))
    return [*first, *again * (n_low - 1), *first, *again * ((n_low + 1) * (n_high - 1))]
