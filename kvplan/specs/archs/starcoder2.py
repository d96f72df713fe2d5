"""StarCoder2: grouped-query attention, layer norms, an ungated feed-forward, a window on every layer where the config has one.

Source: transformers 5.24 models/starcoder2; Lozhkov et al. 2024, arXiv:2402.19173 §5.
"""

from kvplan.core.forms import ActivationForm
from kvplan.core.model import ModelSpec
from kvplan.specs.config import Config
from kvplan.specs.parts.attention import read_heads
from kvplan.specs.parts.decoder import Style, decoder, rotary_dim
from kvplan.specs.parts.forms import plain

MODEL_TYPES = ("starcoder2",)

_N_KV_HEADS = 2  # of the configuration class


def build(cfg: Config) -> ModelSpec:
    """``use_bias`` is for every projection at once."""
    bias = cfg.flag("use_bias", default=True)
    window = cfg.optional_integer("sliding_window")
    style = Style(
        qkv_bias=bias,
        o_bias=bias,
        mlp_bias=bias,
        gated=False,
        norm_bias=True,
        tied=True,
        n_kv_heads=_N_KV_HEADS,
        window=window,
        kinds=("sliding_attention",) if window else ("full_attention",),
    )
    heads = read_heads(cfg, cfg.integer("hidden_size"), n_kv_heads=_N_KV_HEADS)
    mlp = plain(cfg.text("hidden_act", default="gelu_pytorch_tanh"))
    form = ActivationForm(norm="5H", mlp=mlp, rotary_dim=rotary_dim(cfg, heads.head_dim), checked=True)
    return decoder(cfg, style, form)
