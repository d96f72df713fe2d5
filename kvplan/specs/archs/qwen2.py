"""Qwen2, Qwen2.5, QwQ and Qwen3: LLaMA's blocks; Qwen2 with biases on q, k and v, Qwen3 with a norm on each head's q and k.

Source: transformers 5.24 models/{qwen2,qwen3}; Qwen2 report, arXiv:2407.10671 §2.2; Qwen3 report, arXiv:2505.09388 §2.
"""

from kvplan.core.forms import ActivationForm
from kvplan.core.model import ModelSpec
from kvplan.specs.config import Config
from kvplan.specs.parts.decoder import Style, completed, decoder, rotary_width
from kvplan.specs.parts.forms import NORMED_ROTATION, ROTATION

MODEL_TYPES = ("qwen2", "qwen3")

_SIZES: dict[str, object] = {
    **{"vocab_size": 151936, "hidden_size": 4096, "intermediate_size": 22016, "num_hidden_layers": 32, "num_attention_heads": 32},
    **{"num_key_value_heads": 32, "max_position_embeddings": 32768, "sliding_window": 4096, "max_window_layers": 28},
}
_CLASS = {"qwen2": _SIZES, "qwen3": {**_SIZES, "head_dim": 128}}


def qwen_window(cfg: Config) -> tuple[int | None, tuple[str, ...]]:
    """The window and the kinds of layers: layers from ``max_window_layers`` on slide, and only with ``use_sliding_window``."""
    if not cfg.flag("use_sliding_window", default=False):
        return None, ("full_attention",)
    window, n_layers = cfg.optional_integer("sliding_window"), cfg.n_layers()
    first = cfg.integer("max_window_layers", least=0)
    return window, tuple("sliding_attention" if window and i >= first else "full_attention" for i in range(n_layers))


def build(cfg: Config) -> ModelSpec:
    """Qwen2 always has its biases and none on the output; Qwen3 has them where ``attention_bias`` says so, then on all four."""
    model_type = cfg.text("model_type", default="qwen2")
    cfg = completed(cfg, _CLASS[model_type])
    window, kinds = qwen_window(cfg)
    if model_type == "qwen2":
        style = Style(qkv_bias=True, window=window, kinds=kinds)
    else:
        bias = cfg.flag("attention_bias", default=False)
        style = Style(qkv_bias=bias, o_bias=bias, qk_norm="head", window=window, kinds=kinds)
    form = ActivationForm(attention=NORMED_ROTATION if model_type == "qwen3" else ROTATION, rotary_dim=rotary_width(cfg), checked=True)
    return decoder(cfg, style, form)
