"""Orion and TeleChat: LLaMA's blocks, Orion's with LayerNorm, TeleChat's with biases on the output of each block.

Source: modeling_orion.py of OrionStarAI/Orion-14B-Base; modeling_telechat.py of Tele-AI/telechat-7B, vLLM
model_executor/models/telechat2.py; TeleChat report, arXiv:2401.03804 §3.
"""

from kvplan.core.forms import ActivationForm
from kvplan.core.model import ModelSpec
from kvplan.specs.config import Config
from kvplan.specs.parts.blocks import vector
from kvplan.specs.parts.decoder import Style, decoder, rotary_width

MODEL_TYPES = ("orion", "telechat")

_TELECHAT = {"n_layer": "num_hidden_layers", "n_head": "num_attention_heads", "ffn_hidden_size": "intermediate_size"}


def build(cfg: Config) -> ModelSpec:
    """A TeleChat config must say itself whether its embeddings are tied: releases differ."""
    if cfg.text("model_type") == "orion":
        form = ActivationForm(rotary_dim=rotary_width(cfg), norm="5H")
        return decoder(cfg, Style(norm_bias=True), form)
    cfg = cfg.renamed(_TELECHAT)
    cfg.flag("tie_word_embeddings")
    hidden = cfg.integer("hidden_size")
    down_bias = vector("mlp.down_proj.bias", hidden, role="mlp")
    return decoder(cfg, Style(o_bias=True), ActivationForm(rotary_dim=rotary_width(cfg)), extra=down_bias)
