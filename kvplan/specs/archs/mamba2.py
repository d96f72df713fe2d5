"""Mamba-2 and Mamba-Codestral: a stack of Mamba-2 blocks, no attention and no feed-forward blocks.

Source: transformers 5.24 models/mamba2; Dao & Gu 2024, arXiv:2405.21060.
"""

from kvplan.core.forms import ActivationForm, chunked_scan
from kvplan.core.mixers import Mamba2
from kvplan.core.model import Layer, ModelSpec
from kvplan.specs.config import Config
from kvplan.specs.parts.blocks import norm
from kvplan.specs.parts.decoder import Style, assemble, completed
from kvplan.specs.parts.state_space import Biases, expanded, mamba2, n_groups, state_dtype

MODEL_TYPES = ("mamba2",)

_DEFAULTS: dict[str, object] = {"vocab_size": 32768, "hidden_size": 4096, "num_hidden_layers": 64, "num_heads": 128, "head_dim": 64}


def build(cfg: Config) -> ModelSpec:
    """Equal layers. Raises ConfigError where the heads don't fill ``expand`` · hidden_size channels."""
    cfg = completed(cfg, _DEFAULTS)
    hidden = cfg.integer("hidden_size")
    inner, n_heads, head_dim = expanded(cfg, "expand", hidden), cfg.integer("num_heads"), cfg.integer("head_dim")
    if n_heads * head_dim != inner:
        raise cfg.error("num_heads", f"expected heads that fill {inner} channels, found {n_heads} of {head_dim} channels")
    ssm = Mamba2(
        n_heads,
        head_dim,
        cfg.integer("state_size", default=128),
        n_groups(cfg, "n_groups", n_heads, default=8),
        cfg.integer("conv_kernel", default=4),
        state_dtype(cfg),
    )
    bias = cfg.flag("use_bias", default=False)
    biases = Biases(cfg.flag("use_conv_bias", default=True), bias, bias)
    layer = Layer((ssm,), (), (*norm("norm", hidden), *mamba2("mixer", hidden, ssm, biases)))
    residual = "2H + fH" if cfg.flag("residual_in_fp32", default=True) else "3H"
    scan = chunked_scan(cfg.integer("chunk_size", default=256), hidden=residual)
    return assemble(cfg, [layer] * cfg.n_layers(), Style(), ActivationForm(states=(scan,), logits="W + fW", checked=True))
