"""Seed-OSS, ERNIE 4.5 and Helium: LLaMA's blocks with switches of their own for biases.

Source: transformers 5.24 models/{seed_oss,ernie4_5,helium}.
"""

from kvplan.core.forms import ActivationForm
from kvplan.core.model import ModelSpec
from kvplan.specs.config import Config
from kvplan.specs.parts.decoder import Style, completed, decoder, rotary_width
from kvplan.specs.parts.forms import FLOAT32_ROTATION, ROTATION

MODEL_TYPES = ("seed_oss", "ernie4_5", "helium")

_CLASS: dict[str, dict[str, object]] = {
    "seed_oss": {
        **{"vocab_size": 155136, "hidden_size": 4096, "intermediate_size": 27648, "num_hidden_layers": 64, "num_attention_heads": 80},
        **{"num_key_value_heads": 8, "head_dim": 128, "max_position_embeddings": 524288},
    },
    "ernie4_5": {
        **{"vocab_size": 103424, "hidden_size": 1024, "intermediate_size": 3072, "num_hidden_layers": 18, "num_attention_heads": 16},
        **{"num_key_value_heads": 2, "head_dim": 128, "max_position_embeddings": 131072, "tie_word_embeddings": True},
    },
    "helium": {
        **{"vocab_size": 48000, "hidden_size": 2560, "intermediate_size": 7040, "num_hidden_layers": 24, "num_attention_heads": 20},
        **{"num_key_value_heads": 20, "head_dim": 128, "max_position_embeddings": 4096},
    },
}


def build(cfg: Config) -> ModelSpec:
    """Seed-OSS has its output's bias apart, ERNIE one switch for all, Helium never one on the output."""
    model_type = cfg.text("model_type")
    cfg = completed(cfg, _CLASS[model_type])
    is_ernie = model_type == "ernie4_5"
    attention = FLOAT32_ROTATION if is_ernie else ROTATION
    tables = 2 if is_ernie else 1  # ERNIE interleaves copies of cos and sin in each layer
    form = ActivationForm(attention=attention, rotary_dim=rotary_width(cfg), rope_tables=tables, rope_float32=is_ernie, checked=True)
    return decoder(cfg, _style(cfg, model_type), form)


def _style(cfg: Config, model_type: str) -> Style:
    if model_type == "ernie4_5":
        bias = cfg.flag("use_bias", default=False)
        return Style(qkv_bias=bias, o_bias=bias, mlp_bias=bias)
    is_seed = model_type == "seed_oss"
    return Style(
        qkv_bias=cfg.flag("attention_bias", default=is_seed),
        o_bias=is_seed and cfg.flag("attention_out_bias", default=False),
        mlp_bias=cfg.flag("mlp_bias", default=False),
    )
