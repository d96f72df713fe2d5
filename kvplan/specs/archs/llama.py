"""LLaMA and the families that share its blocks: RMS norm, rotary GQA, SwiGLU.

Source: transformers 5.24 models/llama/modeling_llama.py; Touvron et al. 2023, arXiv:2302.13971 §2.2.
"""

from kvplan.core.model import ActivationForm, ModelSpec
from kvplan.specs.attention import read_heads
from kvplan.specs.config import Config
from kvplan.specs.decoder import Style, decoder, rotary_dim

MODEL_TYPES = ("llama",)


def build(cfg: Config) -> ModelSpec:
    """Biases as the config says; none by default."""
    heads = read_heads(cfg, cfg.integer("hidden_size"))
    bias = cfg.flag("attention_bias", default=False)
    style = Style(qkv_bias=bias, o_bias=bias, mlp_bias=cfg.flag("mlp_bias", default=False))
    return decoder(cfg, style, ActivationForm(rotary_dim=rotary_dim(cfg, heads.head_dim), checked=True))
