"""MiniCPM: LLaMA's blocks with scaled residuals and tied embeddings, or with experts for feed-forward blocks.

Source: modeling_minicpm.py and configuration_minicpm.py of openbmb/MiniCPM-2B-sft-bf16 and MiniCPM-MoE-8x2B;
MiniCPM report, arXiv:2404.06395 §3.
"""

from kvplan.core.forms import ActivationForm
from kvplan.core.model import ModelSpec, MoeFfn
from kvplan.specs.config import Config
from kvplan.specs.parts.decoder import Style, completed, decoder, rotary_width
from kvplan.specs.parts.experts import MoeStyle
from kvplan.specs.parts.sparse import experts_per_token, sparse_decoder

MODEL_TYPES = ("minicpm",)


def build(cfg: Config) -> ModelSpec:
    """``num_experts`` above 0 makes every layer a mixture of experts as wide as ``intermediate_size``."""
    cfg = completed(cfg, {"num_experts": 0})
    bias = cfg.flag("attention_bias", default=False)
    style = Style(qkv_bias=bias, o_bias=bias, tied=True)
    form = ActivationForm(rotary_dim=rotary_width(cfg))
    n_experts = cfg.integer("num_experts", least=0)
    if not n_experts:
        return decoder(cfg, style, form)
    n_active = experts_per_token(cfg, "num_experts_per_tok", of=n_experts, default=2)
    experts = MoeFfn(n_experts, n_active, cfg.integer("intermediate_size"))
    return sparse_decoder(cfg, style, [experts] * cfg.n_layers(), MoeStyle(), form)
