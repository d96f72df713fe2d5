"""OLMo 2 and OLMo 3: norms after each block and on the whole q and k; OLMo 3 slides in three layers of four.

Source: transformers 5.24 models/{olmo2,olmo3}; OLMo 2 report, arXiv:2501.00656 §3.
"""

from kvplan.core.model import ModelSpec
from kvplan.specs.config import Config
from kvplan.specs.parts.decoder import Style, completed, decoder, rotary_width
from kvplan.specs.parts.forms import POST_NORMED

MODEL_TYPES = ("olmo2", "olmo3")

_SIZES: dict[str, object] = {
    **{"vocab_size": 50304, "hidden_size": 4096, "intermediate_size": 11008, "num_hidden_layers": 32, "num_attention_heads": 32},
    **{"max_position_embeddings": 2048},
}
_CLASS = {"olmo2": _SIZES, "olmo3": {**_SIZES, "sliding_window": 4096}}


_ROTATION = ("2H + Q + 3fQ + K + V", "2H + Q + fQ + 3fK + K + V", "2H + Q + 2fQ")
"""Float32 tables make products and sums float32; so do the norms on q and k."""


def build(cfg: Config) -> ModelSpec:
    """Biases on the attention where the config asks for them."""
    is_olmo3 = cfg.text("model_type") == "olmo3"
    cfg = completed(cfg, _CLASS[cfg.text("model_type")])
    bias = cfg.flag("attention_bias", default=False)
    norms = ("post_attention_layernorm", "post_feedforward_layernorm")
    style = Style(qkv_bias=bias, o_bias=bias, qk_norm="full", layer_norms=norms)
    form = POST_NORMED._replace(attention=_ROTATION, rotary_dim=rotary_width(cfg), rope_float32=True, checked=True)
    if is_olmo3:
        kinds = (*3 * ("sliding_attention",), "full_attention")
        style = style._replace(window=cfg.optional_integer("sliding_window"), kinds=kinds)
        form = form._replace(rope_tables=2)
    return decoder(cfg, style, form)
