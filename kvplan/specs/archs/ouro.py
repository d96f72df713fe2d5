"""Ouro: a decoder with four norms a layer that runs several times over, with a cache for each run.

Source: modeling_ouro.py of ByteDance/Ouro-1.4B; Zhu et al. 2025, arXiv:2510.25741 §3.
"""

from kvplan.core.forms import ActivationForm
from kvplan.core.model import LayerRun, ModelSpec
from kvplan.specs.config import MAX_LAYERS, Config
from kvplan.specs.parts.blocks import linear
from kvplan.specs.parts.decoder import Style, completed, decoder, rotary_width

MODEL_TYPES = ("ouro",)

_NORMS = ("input_layernorm", "input_layernorm_2", "post_attention_layernorm", "post_attention_layernorm_2")


def build(cfg: Config) -> ModelSpec:
    """``total_ut_steps`` runs, 4 by default: layers without weights stand for those after the first."""
    cfg = completed(cfg, {"total_ut_steps": 4})
    spec = decoder(cfg, Style(layer_norms=_NORMS), ActivationForm(rotary_dim=rotary_width(cfg)))
    again = tuple(LayerRun(run.n_layers, run.layer._replace(weights=())) for run in spec.runs)
    runs = (*spec.runs, *again * (cfg.integer("total_ut_steps", most=MAX_LAYERS // spec.n_layers) - 1))
    return spec._replace(runs=runs, weights=(*spec.weights, *linear("early_exit_gate", 1, spec.hidden_size, role="other", bias=True)))
