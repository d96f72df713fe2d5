"""Gemma 3n (text): four residual streams, embeddings for each layer, low-rank residuals, shared keys and values.

Source: transformers 5.24 models/gemma3n; Baykal et al. 2023, arXiv:2301.13310 (AltUp).
"""

from collections.abc import Iterator

from kvplan.core.forms import ActivationForm
from kvplan.core.model import DenseFfn, Layer, ModelSpec
from kvplan.specs.config import Config
from kvplan.specs.parts.attention import attention, layer_kinds, mixer, read_heads
from kvplan.specs.parts.blocks import Groups, copies, gated_mlp, linear, norm, periodic, vector
from kvplan.specs.parts.decoder import Style, assemble, completed
from kvplan.specs.parts.gemma import NORMS, kv_sources, per_layer_embeddings, per_layer_gate

MODEL_TYPES = ("gemma3n_text",)

_CLASS: dict[str, object] = {
    **{"vocab_size": 262400, "hidden_size": 2048, "intermediate_size": 16384, "num_hidden_layers": 35, "num_attention_heads": 8},
    **{"num_key_value_heads": 2, "head_dim": 256, "max_position_embeddings": 32768, "sliding_window": 512, "laurel_rank": 64},
    **{"vocab_size_per_layer_input": 262144, "hidden_size_per_layer_input": 256, "altup_num_inputs": 4, "num_kv_shared_layers": 15},
    **{"final_logit_softcapping": 30.0},
}
_KINDS = (*4 * ("sliding_attention",), "full_attention")


def build(cfg: Config) -> ModelSpec:
    """The last ``num_kv_shared_layers`` layers have no keys and values of their own, nor the projections to them."""
    cfg = completed(cfg, _CLASS)
    hidden, n_layers = cfg.integer("hidden_size"), cfg.n_layers()
    spec = assemble(cfg, list(_layers(cfg, hidden, n_layers)), Style(tied=True), _form(cfg, hidden, n_layers))
    streams = copies(linear("altup_projections", hidden, hidden, role="other"), 2 * (cfg.integer("altup_num_inputs") - 1))
    return spec._replace(weights=(*spec.weights, *streams, *per_layer_embeddings(cfg, hidden, n_layers)))


def _form(cfg: Config, hidden: int, n_layers: int) -> ActivationForm:
    """Each layer reads all streams and makes predictions and corrections of them; the streams' first values and the embeddings of all
    layers live through the whole pass."""
    streams = cfg.integer("altup_num_inputs")
    around = f"{2 * streams + 2}H"
    return ActivationForm(
        norm=f"{3 * streams + 10}H + 2fH",
        attention=(f"{around} + 4Q + K + V", f"{around} + 2Q + 4K + V", f"{around} + Q + 2fQ"),
        core=f"{around} + Q",
        mlp=(f"{2 * streams + 7}H + 4I", f"{4 * streams + 9}H"),
        logits="2W" if cfg.has("final_logit_softcapping") else "W",
        resident=f"{(streams + 1) * hidden + n_layers * cfg.integer('hidden_size_per_layer_input')}",
        rotary_dim=read_heads(cfg, hidden).head_dim,
        rope_tables=2,
        checked=True,
    )


def _layers(cfg: Config, hidden: int, n_layers: int) -> Iterator[Layer]:
    """Each layer, with a feed-forward width of its own where ``intermediate_size`` is a list."""
    heads, bias = read_heads(cfg, hidden), cfg.flag("attention_bias", default=False)
    kinds = layer_kinds(cfg, n_layers, periodic(n_layers, _KINDS))
    widths = _widths(cfg, n_layers)
    window = cfg.integer("sliding_window")
    whole = attention(hidden, heads, qkv_bias=bias, o_bias=bias, qk_norm="head")
    borrowing = tuple(group for group in whole if not group.name.startswith(("self_attn.k_", "self_attn.v_")))
    common = (*(group for name in NORMS for group in norm(name, hidden)), *_streams(cfg, hidden), *per_layer_gate(cfg, hidden))
    for kind, width, source in zip(kinds, widths, kv_sources(cfg, kinds), strict=True):
        weights = (*common, *(whole if source is None else borrowing), *gated_mlp(hidden, width))
        yield Layer((mixer(kind, heads, cfg, window=window),), (DenseFfn(width),), weights, kv_source=source)


def _widths(cfg: Config, n_layers: int) -> tuple[int, ...]:
    if isinstance(cfg.data.get("intermediate_size"), list):
        return tuple(cfg.per_layer("intermediate_size", n_layers, cfg.integers("intermediate_size", least=1)))
    return (cfg.integer("intermediate_size"),) * n_layers


def _streams(cfg: Config, hidden: int) -> Groups:
    """What predicts and corrects the residual streams (AltUp), and the low-rank residual (LAuReL)."""
    n_streams, rank = cfg.integer("altup_num_inputs"), cfg.integer("laurel_rank")
    return (
        *vector("altup.correct_output_scale", hidden, role="other"),
        *linear("altup.correction_coefs", n_streams, n_streams, role="other"),
        *linear("altup.prediction_coefs", n_streams**2, n_streams, role="other"),
        *linear("altup.modality_router", n_streams, hidden, role="other"),
        *norm("altup.router_norm", hidden),
        *linear("laurel.linear_left", rank, hidden, role="other"),
        *linear("laurel.linear_right", hidden, rank, role="other"),
        *norm("laurel.post_laurel_norm", hidden),
    )
