"""Command R and its successors: attention and SwiGLU side by side after one scale-only layer norm, tied embeddings.

Source: transformers 5.24 models/cohere, models/cohere2, models/cohere_compass.
"""

from kvplan.core.forms import ActivationForm
from kvplan.core.model import ModelSpec
from kvplan.specs.config import MAX_LAYERS, Config
from kvplan.specs.parts.attention import read_heads
from kvplan.specs.parts.blocks import periodic
from kvplan.specs.parts.decoder import Style, decoder
from kvplan.specs.parts.forms import FLOAT32_COPY_ROTATION

MODEL_TYPES = ("cohere", "cohere2", "cohere_compass_text")


def build(cfg: Config) -> ModelSpec:
    """Cohere may scale each head's queries and keys; Cohere 2 has a window on three layers of four, Compass where its file says so."""
    bias = cfg.flag("attention_bias", default=False)
    style = Style(qkv_bias=bias, o_bias=bias, layer_norms=("input_layernorm",), tied=True)
    qk_norm = False
    model_type = cfg.text("model_type")
    if model_type == "cohere":
        qk_norm = cfg.flag("use_qk_norm", default=False)
        style = style._replace(qk_norm="full" if qk_norm else None)
    else:
        kinds = _pattern(cfg) if model_type == "cohere2" else style.kinds
        style = style._replace(window=cfg.optional_integer("sliding_window", default=4096), kinds=kinds)
    heads = read_heads(cfg, cfg.integer("hidden_size"))
    form = ActivationForm(
        norm="2H + 3fH",
        attention=FLOAT32_COPY_ROTATION,
        full_attention=() if model_type == "cohere2" else None,
        logits="2W",
        rotary_dim=heads.head_dim,
        checked=model_type != "cohere_compass_text",
    )
    return decoder(cfg, style, form)


def _pattern(cfg: Config) -> tuple[str, ...]:
    """Every ``sliding_window_pattern``-th layer sees everything, the others a window."""
    period = cfg.integer("sliding_window_pattern", default=4, most=MAX_LAYERS)
    return periodic(cfg.n_layers(), ("sliding_attention",) * (period - 1) + ("full_attention",))
