"""Mamba and Falcon-Mamba: a stack of selective state spaces, no attention and no feed-forward blocks.

Falcon-Mamba normalizes dt, B and C with fixed scales, which are no parameters.
Source: transformers 5.24 models/mamba, models/falcon_mamba; Gu & Dao 2023, arXiv:2312.00752; Zuo et al. 2024, arXiv:2410.05355 §3.1.
"""

from kvplan.core.forms import ActivationForm
from kvplan.core.mixers import Mamba1
from kvplan.core.model import Layer, ModelSpec
from kvplan.specs.config import Config
from kvplan.specs.parts.blocks import norm
from kvplan.specs.parts.decoder import Style, assemble, completed
from kvplan.specs.parts.forms import decays, selective_scan
from kvplan.specs.parts.state_space import Biases, dt_rank, expanded, mamba1

MODEL_TYPES = ("mamba", "falcon_mamba")

_DEFAULTS: dict[str, object] = {"vocab_size": 50280, "hidden_size": 768, "num_hidden_layers": 32}


def build(cfg: Config) -> ModelSpec:
    """Equal layers; embeddings are tied unless the config says no."""
    cfg = completed(cfg, _DEFAULTS)
    hidden = cfg.integer("hidden_size")
    inner = cfg.integer("intermediate_size", default=expanded(cfg, "expand", hidden))
    rank = dt_rank(cfg, "time_step_rank", hidden)
    ssm = Mamba1(inner, cfg.integer("state_size", default=16), cfg.integer("conv_kernel", default=4), rank)
    bias = cfg.flag("use_bias", default=False)
    biases = Biases(cfg.flag("use_conv_bias", default=True), bias, bias)
    layer = Layer((ssm,), (), (*norm("norm", hidden), *mamba1("mixer", hidden, ssm, biases)))
    scan = selective_scan(ssm, residual="2H + fH" if cfg.flag("residual_in_fp32", default=True) else "3H")
    form = ActivationForm(states=(scan,), logits="W + fW", constant_bytes=decays(ssm), checked=True)
    return assemble(cfg, [layer] * cfg.n_layers(), Style(tied=True), form)
