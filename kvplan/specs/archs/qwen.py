"""The first Qwen: LLaMA's blocks with q, k and v in one tensor with a bias, and ``intermediate_size`` for two halves.

Source: modeling_qwen.py and configuration_qwen.py of Qwen/Qwen-7B; Qwen report, arXiv:2309.16609 §2.3.
"""

from kvplan.core.forms import ActivationForm
from kvplan.core.model import ModelSpec
from kvplan.specs.config import Config
from kvplan.specs.parts.decoder import Style, decoder, rotary_width
from kvplan.specs.parts.forms import FUSED_CORE
from kvplan.specs.parts.multimodal import joined, tower
from kvplan.specs.parts.tower import part

MODEL_TYPES = ("qwen",)

_NAMES = {"n_embd": "hidden_size", "n_layer": "num_hidden_layers", "n_head": "num_attention_heads"}
_OWN = {**_NAMES, "ffn_hidden_size": "intermediate_size", "kv_channels": "head_dim"}


def build(cfg: Config) -> ModelSpec:
    """``no_bias``, true by default, is about all projections but q, k and v. Qwen-VL has an image encoder, ``visual``."""
    cfg = cfg.renamed(_OWN)
    both = cfg.integer("intermediate_size", least=2)
    if both % 2:
        raise cfg.error("intermediate_size", f"expected an even number, the width of gate and up projection together, found {both}")
    cfg = Config({**cfg.data, "intermediate_size": both // 2}, where=cfg.where, path=cfg.path)
    bias = not cfg.flag("no_bias", default=True)
    form = ActivationForm(rotary_dim=rotary_width(cfg), core=FUSED_CORE)
    text = decoder(cfg, Style(qkv_bias=True, o_bias=bias, mlp_bias=bias), form)
    return joined(text, part("visual", tower(cfg, "visual", kind="qwen_visual").groups, "vision")) if cfg.has("visual") else text
