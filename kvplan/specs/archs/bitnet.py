"""BitNet b1.58: LLaMA's blocks with a norm before the output projection of each block.

Source: transformers 5.24 models/bitnet; BitNet b1.58 2B4T report, arXiv:2504.12285 §2.
"""

from kvplan.core.forms import ActivationForm
from kvplan.core.model import ModelSpec
from kvplan.specs.config import Config
from kvplan.specs.parts.blocks import norm
from kvplan.specs.parts.decoder import Style, completed, decoder, rotary_width

MODEL_TYPES = ("bitnet",)

_CLASS: dict[str, object] = {
    **{"vocab_size": 128256, "hidden_size": 2560, "intermediate_size": 6912, "num_hidden_layers": 30, "num_attention_heads": 20},
    **{"num_key_value_heads": 5, "max_position_embeddings": 2048},
}


def build(cfg: Config) -> ModelSpec:
    """Biases on the attention where the config asks for them."""
    cfg = completed(cfg, _CLASS)
    bias = cfg.flag("attention_bias", default=False)
    sub_norms = (
        *norm("self_attn.attn_sub_norm", cfg.integer("hidden_size")),
        *norm("mlp.ffn_sub_norm", cfg.integer("intermediate_size")),
    )
    form = ActivationForm(mlp=("4H + I + 2fI",), rotary_dim=rotary_width(cfg), checked=True)
    return decoder(cfg, Style(qkv_bias=bias, o_bias=bias), form, extra=sub_norms)
