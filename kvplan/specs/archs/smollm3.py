"""SmolLM3 and CWM: LLaMA's blocks with layers of two kinds.

Source: transformers 5.24 models/{smollm3,cwm}.
"""

from kvplan.core.forms import ActivationForm
from kvplan.core.model import ModelSpec
from kvplan.specs.config import Config
from kvplan.specs.parts.decoder import Style, completed, decoder, rotary_width

MODEL_TYPES = ("smollm3", "cwm")

_CLASS: dict[str, dict[str, object]] = {
    "smollm3": {
        **{"vocab_size": 128256, "hidden_size": 2048, "intermediate_size": 11008, "num_hidden_layers": 36, "num_attention_heads": 16},
        **{"num_key_value_heads": 4, "max_position_embeddings": 32768, "tie_word_embeddings": True},
    },
    "cwm": {
        **{"vocab_size": 128256, "hidden_size": 6144, "intermediate_size": 21504, "num_hidden_layers": 64, "num_attention_heads": 48},
        **{"num_key_value_heads": 8, "head_dim": 128, "max_position_embeddings": 131072, "sliding_window": 8192},
    },
}


def build(cfg: Config) -> ModelSpec:
    """SmolLM3's unrotated layers slide where a window is in use; CWM sees all tokens in every fourth layer, the first included."""
    model_type = cfg.text("model_type")
    cfg = completed(cfg, _CLASS[model_type])
    mlp_bias = cfg.flag("mlp_bias", default=False)
    form = ActivationForm(rotary_dim=rotary_width(cfg), checked=True)
    kinds: tuple[str, ...]
    if model_type == "cwm":
        kinds = ("full_attention", *3 * ("sliding_attention",))
        return decoder(cfg, Style(mlp_bias=mlp_bias, window=cfg.optional_integer("sliding_window", least=0) or None, kinds=kinds), form)
    bias = cfg.flag("attention_bias", default=False)
    window = cfg.optional_integer("sliding_window") if cfg.flag("use_sliding_window", default=False) else None
    kinds = tuple("full_attention" if rotated or not window else "sliding_attention" for rotated in _rotated(cfg))
    return decoder(cfg, Style(qkv_bias=bias, o_bias=bias, mlp_bias=mlp_bias, window=window, kinds=kinds), form)


def _rotated(cfg: Config) -> tuple[bool, ...]:
    """Which layers rotate: as ``no_rope_layers`` marks with 1, else all but every ``no_rope_layer_interval``-th."""
    n_layers = cfg.n_layers()
    if cfg.has("no_rope_layers"):
        marks = cfg.integers("no_rope_layers")
        if len(marks) < n_layers:
            raise cfg.error("no_rope_layers", f"expected one mark for each of {n_layers} layers, found {len(marks)}")
        return tuple(mark != 0 for mark in marks[:n_layers])
    interval = cfg.integer("no_rope_layer_interval", default=4)
    return tuple((i + 1) % interval != 0 for i in range(n_layers))
