"""OLMo: LLaMA's projections between layer norms that have no parameters.

Source: transformers 5.24 models/olmo; Groeneveld et al. 2024, arXiv:2402.00838 §2.1.
"""

from kvplan.core.forms import ActivationForm
from kvplan.core.model import ModelSpec
from kvplan.specs.config import Config
from kvplan.specs.parts.attention import read_heads
from kvplan.specs.parts.decoder import Style, decoder
from kvplan.specs.parts.forms import FLOAT32_ROTATION

MODEL_TYPES = ("olmo",)


def build(cfg: Config) -> ModelSpec:
    """Biases on the attention where the config asks for them."""
    bias = cfg.flag("attention_bias", default=False)
    heads = read_heads(cfg, cfg.integer("hidden_size"))
    style = Style(qkv_bias=bias, o_bias=bias, norm_weight=False)
    return decoder(cfg, style, ActivationForm(attention=FLOAT32_ROTATION, rotary_dim=heads.head_dim, rope_float32=True, checked=True))
