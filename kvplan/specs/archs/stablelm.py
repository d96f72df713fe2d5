"""StableLM: layer norms around LLaMA's projections, partial rotation, optionally a parallel block and per-head norms.

Source: transformers 5.24 models/stablelm; Bellagente et al. 2024, arXiv:2402.17834 §3.1.
"""

from kvplan.core.forms import ActivationForm
from kvplan.core.model import ModelSpec
from kvplan.specs.config import Config
from kvplan.specs.parts.attention import read_heads
from kvplan.specs.parts.decoder import Style, decoder, rotary_dim
from kvplan.specs.parts.forms import PARTIAL_CORE

MODEL_TYPES = ("stablelm", "stablelm_epoch")

_N_KV_HEADS = {"stablelm": 32, "stablelm_epoch": None}
"""Of the configuration class, whatever the number of heads; the repositories' first files, stablelm_epoch, assume as many."""


def build(cfg: Config) -> ModelSpec:
    """``qk_layernorm`` gives each head a scale of its own; with ``use_parallel_residual`` there is one norm a layer."""
    n_kv_heads = _N_KV_HEADS[cfg.text("model_type")]
    parallel, qk_norm = cfg.flag("use_parallel_residual", default=False), cfg.flag("qk_layernorm", default=False)
    style = Style(
        qkv_bias=cfg.flag("use_qkv_bias", default=False),
        qk_norm="full" if qk_norm else None,
        layer_norms=("input_layernorm",) if parallel else ("input_layernorm", "post_attention_layernorm"),
        norm_bias=True,
        n_kv_heads=n_kv_heads,
    )
    heads = read_heads(cfg, cfg.integer("hidden_size"), n_kv_heads=n_kv_heads)
    form = ActivationForm(
        norm="5H",
        core=PARTIAL_CORE,
        mlp=("6H + 3I",),
        checked=cfg.text("model_type") == "stablelm" and not (parallel or qk_norm),
        rotary_dim=rotary_dim(cfg, heads.head_dim, default=0.25),
    )
    return decoder(cfg, style, form)
