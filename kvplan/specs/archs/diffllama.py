"""DiffLlama: LLaMA's blocks with differential attention, which learns four vectors a layer.

Source: transformers 5.24 models/diffllama; Ye et al. 2024, arXiv:2410.05258 §2.1.
"""

from kvplan.core.forms import ActivationForm
from kvplan.core.model import ModelSpec
from kvplan.specs.config import Config
from kvplan.specs.parts.attention import read_heads
from kvplan.specs.parts.blocks import vector
from kvplan.specs.parts.decoder import Style, completed, decoder, rotary_width

MODEL_TYPES = ("diffllama",)

_CLASS: dict[str, object] = {
    **{"vocab_size": 32000, "hidden_size": 2048, "intermediate_size": 8192, "num_hidden_layers": 16, "num_attention_heads": 32},
    **{"max_position_embeddings": 2048},
}


def build(cfg: Config) -> ModelSpec:
    """Biases on the attention where the config asks for them; the norm of each pair of heads has no weights."""
    cfg = completed(cfg, _CLASS)
    bias = cfg.flag("attention_bias", default=False)
    width = read_heads(cfg, cfg.integer("hidden_size")).head_dim
    lambdas = tuple(g for name in ("q1", "k1", "q2", "k2") for g in vector(f"self_attn.lambda_{name}", width, role="attention"))
    form = ActivationForm(
        core="3H + 2Q",
        context="K + V",
        scores="2NL + 2fNL",
        mlp=("4H + 3I", "3H + 2Q + 3fQ + K + V"),
        rotary_dim=rotary_width(cfg),
        checked=True,
    )
    return decoder(cfg, Style(qkv_bias=bias, o_bias=bias), form, extra=lambdas)
