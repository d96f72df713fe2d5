"""Gemma, Gemma 2, Gemma 3 (text) and VaultGemma: wide heads, tied embeddings, and windows since Gemma 2.

Source: transformers 5.24 models/{gemma,gemma2,gemma3,vaultgemma}; Gemma reports, arXiv:2403.08295 §2,
arXiv:2408.00118 §2, arXiv:2503.19786 §2.
"""

from kvplan.core.forms import ActivationForm
from kvplan.core.model import ModelSpec
from kvplan.specs.config import MAX_LAYERS, Config
from kvplan.specs.parts.decoder import Style, completed, decoder, rotary_width
from kvplan.specs.parts.forms import NORMED_ROTATION, ROTATION
from kvplan.specs.parts.gemma import NORMS, window

MODEL_TYPES = ("gemma", "gemma2", "gemma3_text", "vaultgemma")

_2B: dict[str, object] = {
    **{"vocab_size": 256000, "hidden_size": 2304, "intermediate_size": 9216, "num_hidden_layers": 26, "num_attention_heads": 8},
    **{"num_key_value_heads": 4, "head_dim": 256, "max_position_embeddings": 8192, "sliding_window": 4096},
}
_CLASS: dict[str, dict[str, object]] = {
    "gemma": {
        **{"vocab_size": 256000, "hidden_size": 3072, "intermediate_size": 24576, "num_hidden_layers": 28, "num_attention_heads": 16},
        **{"num_key_value_heads": 16, "head_dim": 256, "max_position_embeddings": 8192},
    },
    "gemma2": _2B,
    "gemma3_text": {**_2B, "vocab_size": 262208, "max_position_embeddings": 131072, "sliding_window_pattern": 6},
    "vaultgemma": _2B,
}


def build(cfg: Config) -> ModelSpec:
    """Gemma 2 slides in every other layer, the first included; Gemma 3 sees all tokens in every ``sliding_window_pattern``-th."""
    model_type = cfg.text("model_type")
    cfg = completed(cfg, _CLASS[model_type])
    bias = cfg.flag("attention_bias", default=False)
    style = Style(qkv_bias=bias, o_bias=bias, tied=True)
    form = ActivationForm(
        attention=NORMED_ROTATION if model_type == "gemma3_text" else ROTATION,
        norm="3H + 2fH" if model_type in ("gemma", "vaultgemma") else "4H + 2fH",
        logits="2W" if model_type in ("gemma2", "vaultgemma") or cfg.has("final_logit_softcapping") else "W",
        rotary_dim=rotary_width(cfg),
        eager_only=model_type in ("gemma2", "vaultgemma"),
        checked=True,
    )
    if model_type == "gemma":
        return decoder(cfg, style, form)
    n_sliding = cfg.integer("sliding_window_pattern", most=MAX_LAYERS) - 1 if model_type == "gemma3_text" else 1
    bidirectional = model_type == "gemma3_text" and cfg.flag("use_bidirectional_attention", default=False)
    style = style._replace(
        layer_norms=("input_layernorm", "pre_feedforward_layernorm") if model_type == "vaultgemma" else NORMS,
        window=window(cfg, bidirectional=bidirectional),
        kinds=(*n_sliding * ("sliding_attention",), "full_attention"),
    )
    if model_type == "gemma3_text":
        style, form = style._replace(qk_norm="head"), form._replace(rope_tables=2)
    return decoder(cfg, style, form)
