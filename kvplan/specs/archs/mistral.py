"""Mistral: LLaMA's blocks with a sliding window on every layer where the config has one.

Source: transformers 5.24 models/mistral; Jiang et al. 2023, arXiv:2310.06825.
"""

from kvplan.core.model import ActivationForm, ModelSpec
from kvplan.specs.attention import read_heads
from kvplan.specs.config import Config
from kvplan.specs.decoder import Style, decoder, rotary_dim

MODEL_TYPES = ("mistral",)


def build(cfg: Config) -> ModelSpec:
    """``sliding_window: null`` (v0.2 and later) means full attention; a config without the key has 4096, as the class does."""
    window = cfg.optional_integer("sliding_window", default=4096)
    kinds = ("sliding_attention",) if window else ("full_attention",)
    heads = read_heads(cfg, cfg.integer("hidden_size"))
    return decoder(cfg, Style(window=window, kinds=kinds), ActivationForm(rotary_dim=rotary_dim(cfg, heads.head_dim), checked=True))
