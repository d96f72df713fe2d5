"""Qwen2, Qwen2.5 and QwQ: LLaMA's blocks with biases on q, k and v.

Source: transformers 5.24 models/qwen2; Qwen2 report, arXiv:2407.10671 §2.2.
"""

from kvplan.core.model import ActivationForm, ModelSpec
from kvplan.specs.attention import read_heads
from kvplan.specs.config import Config
from kvplan.specs.decoder import Style, decoder, rotary_dim

MODEL_TYPES = ("qwen2",)


def qwen_window(cfg: Config) -> tuple[int | None, tuple[str, ...]]:
    """The window and the kinds of layers: layers from ``max_window_layers`` on slide, and only with ``use_sliding_window``."""
    if not cfg.flag("use_sliding_window", default=False):
        return None, ("full_attention",)
    window, n_layers = cfg.optional_integer("sliding_window", default=4096), cfg.n_layers()
    first = cfg.integer("max_window_layers", default=28, least=0)
    return window, tuple("sliding_attention" if window and i >= first else "full_attention" for i in range(n_layers))


def build(cfg: Config) -> ModelSpec:
    """Biases on q, k and v, none on the output."""
    window, kinds = qwen_window(cfg)
    heads = read_heads(cfg, cfg.integer("hidden_size"))
    style = Style(qkv_bias=True, window=window, kinds=kinds)
    return decoder(cfg, style, ActivationForm(rotary_dim=rotary_dim(cfg, heads.head_dim), checked=True))
