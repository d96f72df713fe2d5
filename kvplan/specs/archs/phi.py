"""Phi-1, Phi-1.5, Phi-2 and Persimmon: layer norms, biases everywhere, an ungated feed-forward, partial rotation.

Source: transformers 5.24 models/phi, models/persimmon; Li et al. 2023, arXiv:2309.05463 §2.1.
"""

from kvplan.core.model import ActivationForm, ModelSpec
from kvplan.specs.attention import read_heads
from kvplan.specs.config import Config
from kvplan.specs.decoder import Style, decoder, rotary_dim

MODEL_TYPES = ("phi", "persimmon")


def build(cfg: Config) -> ModelSpec:
    """Phi runs attention and feed-forward side by side after one norm, and its output projection has a bias."""
    is_phi = cfg.text("model_type") == "phi"
    qk_norm = cfg.flag("qk_layernorm", default=not is_phi)
    style = Style(
        qkv_bias=True,
        o_bias=True,
        mlp_bias=True,
        gated=False,
        qk_norm="head" if qk_norm else None,
        qk_norm_bias=True,
        layer_norms=("input_layernorm",) if is_phi else ("input_layernorm", "post_attention_layernorm"),
        norm_bias=True,
        head_bias=is_phi,
    )
    heads = read_heads(cfg, cfg.integer("hidden_size"))
    if not is_phi and heads.n_kv_heads != heads.n_heads:
        raise cfg.error("num_key_value_heads", f"expected num_attention_heads = {heads.n_heads}: Persimmon has no grouped queries")
    form = ActivationForm(
        rms_norm=False,
        qk_norm=qk_norm,
        parallel_block=is_phi,
        fused_qkv=not is_phi,
        rotary_dim=rotary_dim(cfg, heads.head_dim, default=0.5),
    )
    return decoder(cfg, style, form)
