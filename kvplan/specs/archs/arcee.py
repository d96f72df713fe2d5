"""Decoders with a plain feed-forward of squared ReLU: Arcee, Nemotron, Jais 2 and nanochat.

Source: transformers 5.24 models/{arcee,nemotron,jais2,nanochat}; So et al. 2021, arXiv:2109.08668 §4 (squared ReLU).
"""

from kvplan.core.forms import ActivationForm
from kvplan.core.model import ModelSpec
from kvplan.specs.config import Config
from kvplan.specs.parts.decoder import Style, completed, decoder, rotary_width
from kvplan.specs.parts.forms import NORMED_ROTATION, plain

MODEL_TYPES = ("arcee", "nemotron", "jais2", "nanochat")

_CLASS: dict[str, dict[str, object]] = {
    "arcee": {
        **{"vocab_size": 32000, "hidden_size": 2560, "intermediate_size": 18432, "num_hidden_layers": 32, "num_attention_heads": 32},
        **{"max_position_embeddings": 4096},
    },
    "nemotron": {
        **{"vocab_size": 256000, "hidden_size": 6144, "intermediate_size": 24576, "num_hidden_layers": 32, "num_attention_heads": 48},
        **{"max_position_embeddings": 4096},
    },
    "jais2": {
        **{"vocab_size": 150272, "hidden_size": 3328, "intermediate_size": 26624, "num_hidden_layers": 32, "num_attention_heads": 26},
        **{"max_position_embeddings": 8192, "attention_bias": True, "mlp_bias": True},
    },
    "nanochat": {
        **{"vocab_size": 50304, "hidden_size": 768, "intermediate_size": 8192, "num_hidden_layers": 12, "num_attention_heads": 6},
        **{"max_position_embeddings": 2048},
    },
}


def build(cfg: Config) -> ModelSpec:
    """Nemotron's and Jais 2's norms have shifts; nanochat's norms, on q and k too, have no weights at all."""
    model_type = cfg.text("model_type")
    cfg = completed(cfg, _CLASS[model_type])
    bias = cfg.flag("attention_bias", default=False)
    style = Style(qkv_bias=bias, o_bias=bias, mlp_bias=cfg.flag("mlp_bias", default=False), gated=False)
    width = rotary_width(cfg, default=0.5 if model_type == "nemotron" else 1.0)
    form = ActivationForm(mlp=plain(cfg.text("hidden_act", default="relu2")), rotary_dim=width, checked=True)
    if model_type == "nanochat":
        return decoder(cfg, style._replace(mlp_bias=False, norm_weight=False), form._replace(attention=NORMED_ROTATION, logits="2W"))
    if model_type == "arcee":
        return decoder(cfg, style, form)
    return decoder(cfg, style._replace(norm_bias=True), form)
