"""Falcon-H1: attention and Mamba-2 side by side in every layer, then a dense feed-forward.

Source: transformers 5.24 models/falcon_h1; Zuo et al. 2025, arXiv:2507.22448 §2.
"""

from kvplan.core.forms import ActivationForm, chunked_scan
from kvplan.core.model import DenseFfn, Layer, ModelSpec
from kvplan.specs.config import Config
from kvplan.specs.parts.attention import attention, full, read_heads
from kvplan.specs.parts.blocks import gated_mlp, norm
from kvplan.specs.parts.decoder import Style, assemble, completed, rotary_dim
from kvplan.specs.parts.state_space import Biases, expanded, mamba2, read_biases, read_mamba2

MODEL_TYPES = ("falcon_h1",)

_DEFAULTS: dict[str, object] = {
    "vocab_size": 128000,
    "hidden_size": 4096,
    "intermediate_size": 14336,
    "num_hidden_layers": 32,
    "num_attention_heads": 32,
    "num_key_value_heads": 8,
    "max_position_embeddings": 8192,
    "mamba_d_ssm": 1024,
}


def build(cfg: Config) -> ModelSpec:
    """``mamba_d_ssm`` are the channels of the state space; null means ``mamba_expand`` · hidden_size."""
    cfg = completed(cfg, _DEFAULTS)
    hidden, intermediate = cfg.integer("hidden_size"), cfg.integer("intermediate_size")
    heads = read_heads(cfg, hidden)
    ssm = read_mamba2(cfg, cfg.integer("mamba_d_ssm") if cfg.has("mamba_d_ssm") else expanded(cfg, "mamba_expand", hidden))
    into = read_biases(cfg)
    biases = Biases(into.conv, into.into, cfg.flag("projectors_bias", default=False))
    bias = cfg.flag("attention_bias", default=False)
    weights = (
        *norm("input_layernorm", hidden),
        *norm("pre_ff_layernorm", hidden),
        *mamba2("mamba", hidden, ssm, biases, gated_norm=cfg.flag("mamba_rms_norm", default=False)),
        *attention(hidden, heads, qkv_bias=bias, o_bias=bias),
        *gated_mlp(hidden, intermediate, name="feed_forward", bias=cfg.flag("mlp_bias", default=False)),
    )
    layer = Layer((full(heads), ssm), (DenseFfn(intermediate),), weights)
    states = (chunked_scan(cfg.integer("mamba_chunk_size", default=256)),)
    return assemble(
        cfg, [layer] * cfg.n_layers(), Style(), ActivationForm(rotary_dim=rotary_dim(cfg, heads.head_dim), states=states, checked=True)
    )
