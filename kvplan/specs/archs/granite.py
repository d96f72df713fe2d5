"""Granite, Granite with sliding windows, and HyperCLOVA X: LLaMA's blocks with scaled residuals.

Source: transformers 5.24 models/{granite,granite_swa,hyperclovax}.
"""

from kvplan.core.forms import ActivationForm
from kvplan.core.model import ModelSpec
from kvplan.specs.config import Config
from kvplan.specs.parts.blocks import vector
from kvplan.specs.parts.decoder import Style, completed, decoder, rotary_width

MODEL_TYPES = ("granite", "granite_swa", "hyperclovax")

_7B = {
    **{"vocab_size": 32000, "hidden_size": 4096, "intermediate_size": 11008, "num_hidden_layers": 32, "num_attention_heads": 32},
    **{"max_position_embeddings": 2048},
}
_CLASS: dict[str, dict[str, object]] = {
    "granite": {**_7B},
    "granite_swa": {
        **{"vocab_size": 100352, "hidden_size": 2560, "intermediate_size": 8192, "num_hidden_layers": 24, "num_attention_heads": 20},
        **{"num_key_value_heads": 4, "max_position_embeddings": 8192, "sliding_window": 128, "tie_word_embeddings": True},
    },
    "hyperclovax": {**_7B},
}
_NORMS = ("input_layernorm", "post_attention_layernorm")


def build(cfg: Config) -> ModelSpec:
    """Granite-SWA sees all tokens in every fourth layer, the first included, and learns a sink per head.

    HyperCLOVA X also normalizes what each block adds, unless ``use_post_norm`` is false.
    """
    model_type = cfg.text("model_type")
    cfg = completed(cfg, _CLASS[model_type])
    bias = cfg.flag("attention_bias", default=False)
    style = Style(qkv_bias=bias, o_bias=bias, mlp_bias=cfg.flag("mlp_bias", default=False))
    form = ActivationForm(logits="2W", rotary_dim=rotary_width(cfg), checked=True)
    if model_type == "granite_swa":
        window = cfg.optional_integer("sliding_window")
        style = style._replace(window=window, kinds=("full_attention", *3 * ("sliding_attention",)))
        sinks = vector("self_attn.sinks", cfg.integer("num_attention_heads"), role="attention")
        return decoder(cfg, style, form._replace(scores="NL + 2fNL + N + 2fN", eager_only=True), extra=sinks)
    if model_type == "hyperclovax" and cfg.flag("use_post_norm", default=True):
        style = style._replace(layer_norms=(*_NORMS, "post_norm1", "post_norm2"))
    return decoder(cfg, style, form)
