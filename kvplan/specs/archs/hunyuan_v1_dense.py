"""Hunyuan dense: LLaMA's blocks with norms on each head's q and k.

Source: transformers 5.24 models/hunyuan_v1_dense.
"""

from kvplan.core.forms import ActivationForm
from kvplan.core.model import ModelSpec
from kvplan.specs.config import Config
from kvplan.specs.parts.decoder import Style, completed, decoder, rotary_width
from kvplan.specs.parts.forms import NORMED_ROTATION

MODEL_TYPES = ("hunyuan_v1_dense",)

_CLASS: dict[str, object] = {
    **{"vocab_size": 290943, "hidden_size": 4096, "intermediate_size": 11008, "num_hidden_layers": 32, "num_attention_heads": 32},
    **{"max_position_embeddings": 2048},
}


def build(cfg: Config) -> ModelSpec:
    """Biases on the attention where the config asks for them."""
    cfg = completed(cfg, _CLASS)
    bias = cfg.flag("attention_bias", default=False)
    style = Style(qkv_bias=bias, o_bias=bias, qk_norm="head")
    return decoder(cfg, style, ActivationForm(attention=NORMED_ROTATION, rotary_dim=rotary_width(cfg), checked=True))
