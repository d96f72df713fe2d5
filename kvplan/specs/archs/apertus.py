"""Apertus: norms on each head's q and k, and a plain feed-forward whose activation learns two numbers (xIELU).

Source: transformers 5.24 models/{apertus,apertus1p5}, activations.py XIELUActivation; Apertus report, arXiv:2509.14233 §2.
"""

from kvplan.core.forms import ActivationForm
from kvplan.core.model import ModelSpec
from kvplan.specs.config import Config
from kvplan.specs.parts.blocks import vector
from kvplan.specs.parts.decoder import Style, completed, decoder, rotary_width
from kvplan.specs.parts.forms import NORMED_ROTATION

MODEL_TYPES = ("apertus", "apertus1p5_text")

_SIZES: dict[str, object] = {
    **{"vocab_size": 131072, "hidden_size": 4096, "intermediate_size": 14336, "num_hidden_layers": 32, "num_attention_heads": 32},
    **{"max_position_embeddings": 65536},
}
_CLASS = {"apertus": _SIZES, "apertus1p5_text": {**_SIZES, "vocab_size": 266752}}


def build(cfg: Config) -> ModelSpec:
    """Apertus 1.5 may predict only the first ``output_vocab_size`` tokens of its vocabulary."""
    model_type = cfg.text("model_type")
    cfg = completed(cfg, _CLASS[model_type])
    bias = cfg.flag("attention_bias", default=False)
    norms = ("attention_layernorm", "feedforward_layernorm")
    style = Style(qkv_bias=bias, o_bias=bias, gated=False, qk_norm="head", layer_norms=norms)
    learned = cfg.text("hidden_act", default="xielu") == "xielu"
    xielu = (*vector("mlp.act_fn.alpha_p", 1, role="mlp"), *vector("mlp.act_fn.alpha_n", 1, role="mlp")) if learned else ()
    form = ActivationForm(
        attention=NORMED_ROTATION, mlp=("4H + 5I + bI",) if learned else (), rotary_dim=rotary_width(cfg), checked=learned
    )
    spec = decoder(cfg, style, form, extra=xielu)
    return _narrowed(spec, cfg) if model_type == "apertus1p5_text" and cfg.has("output_vocab_size") else spec


def _narrowed(spec: ModelSpec, cfg: Config) -> ModelSpec:
    """``spec`` with ``output_vocab_size`` rows in its output projection, which then shares nothing with the embeddings."""
    rows = cfg.integer("output_vocab_size", most=spec.vocab_size)
    if rows == spec.vocab_size:
        return spec
    if cfg.flag("tie_word_embeddings", default=False):
        raise cfg.error("tie_word_embeddings", f"expected false: {rows} outputs can't share {spec.vocab_size} embeddings")
    return spec._replace(weights=tuple(group._replace(rows=rows) if group.role == "lm_head" else group for group in spec.weights))
