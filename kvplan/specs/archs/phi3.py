"""Phi-3, Phi-3.5, Phi-4 and Phi-3-small.

Source: transformers 5.24 models/phi3; modeling_phi3_small.py of microsoft/Phi-3-small-8k-instruct;
Phi-3 report, arXiv:2404.14219 §2.
"""

from kvplan.core.forms import ActivationForm
from kvplan.core.model import ModelSpec
from kvplan.specs.config import Config
from kvplan.specs.parts.decoder import Style, completed, decoder, rotary_width
from kvplan.specs.parts.forms import FUSED_CORE

MODEL_TYPES = ("phi3", "phi3small")

_CLASS: dict[str, object] = {
    **{"vocab_size": 32064, "hidden_size": 3072, "intermediate_size": 8192, "num_hidden_layers": 32, "num_attention_heads": 32},
    **{"max_position_embeddings": 4096},
}


def build(cfg: Config) -> ModelSpec:
    """Phi-3 has LLaMA's blocks in fused tensors and, where the config has one, a window on every layer."""
    if cfg.text("model_type") == "phi3small":
        return _small(cfg)
    cfg = completed(cfg, _CLASS)
    window = cfg.optional_integer("sliding_window")
    kinds = ("sliding_attention",) if window else ("full_attention",)
    form = ActivationForm(core=FUSED_CORE, mlp=("4H + 4I",), rotary_dim=rotary_width(cfg), checked=True)
    return decoder(cfg, Style(window=window, kinds=kinds), form)


def _small(cfg: Config) -> ModelSpec:
    """LayerNorm, biases everywhere and tied embeddings; its block-sparse layers keep all tokens, as the strides reach any."""
    cfg = cfg.renamed({"ff_intermediate_size": "intermediate_size"})
    style = Style(qkv_bias=True, o_bias=True, mlp_bias=True, norm_bias=True, tied=True)
    return decoder(cfg, style, ActivationForm(core=FUSED_CORE, rotary_dim=rotary_width(cfg)))
