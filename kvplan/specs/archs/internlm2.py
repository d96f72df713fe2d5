"""InternLM 2 and Baichuan: LLaMA's blocks with q, k and v in one tensor.

Source: modeling_internlm2.py and modeling_baichuan.py of their repositories; InternLM2 report, arXiv:2403.17297 §2.2;
Baichuan 2 report, arXiv:2309.10305 §2 (ALiBi in the 13B).
"""

from kvplan.core.forms import ActivationForm
from kvplan.core.model import ModelSpec
from kvplan.specs.config import Config
from kvplan.specs.parts.decoder import Style, completed, decoder, rotary_width
from kvplan.specs.parts.forms import FUSED_CORE

MODEL_TYPES = ("internlm2", "baichuan")

_ROTARY_HIDDEN = 4096
"""The one width at which Baichuan's code rotates; wider models have ALiBi."""


def build(cfg: Config) -> ModelSpec:
    """InternLM 2's ``bias``, true by default, is the attention's, output included; Baichuan has none."""
    if cfg.text("model_type") == "baichuan":
        rotates = cfg.integer("hidden_size") == _ROTARY_HIDDEN
        return decoder(cfg, Style(), ActivationForm(rotary_dim=rotary_width(cfg) if rotates else None, core=FUSED_CORE))
    cfg = completed(cfg, {"bias": True})
    bias = cfg.flag("bias")
    return decoder(cfg, Style(qkv_bias=bias, o_bias=bias), ActivationForm(rotary_dim=rotary_width(cfg), core=FUSED_CORE))
