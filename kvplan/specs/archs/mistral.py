"""Mistral and Ministral: LLaMA's blocks with a sliding window where the config has one.

Source: transformers 5.24 models/{mistral,ministral,ministral3}; Jiang et al. 2023, arXiv:2310.06825.
"""

from kvplan.core.forms import ActivationForm
from kvplan.core.model import ModelSpec
from kvplan.specs.config import Config
from kvplan.specs.parts.decoder import Style, completed, decoder, rotary_width

MODEL_TYPES = ("mistral", "ministral", "ministral3")

_SIZES = {"hidden_size": 4096, "intermediate_size": 14336, "num_attention_heads": 32, "num_key_value_heads": 8}
_7B = {**_SIZES, "vocab_size": 32000, "num_hidden_layers": 32, "max_position_embeddings": 131072, "sliding_window": 4096}
_CLASS: dict[str, dict[str, object]] = {
    "mistral": {**_7B},
    "ministral": {**_7B},
    "ministral3": {**_SIZES, "vocab_size": 131072, "num_hidden_layers": 34, "max_position_embeddings": 262144, "head_dim": 128},
}


def build(cfg: Config) -> ModelSpec:
    """A window is every layer's, unless ``layer_types`` alternates (Ministral); null (Mistral 0.2 and later) means none."""
    model_type = cfg.text("model_type", default="mistral")
    cfg = completed(cfg, _CLASS[model_type])
    window = cfg.optional_integer("sliding_window")
    kinds = ("sliding_attention",) if window else ("full_attention",)
    form = ActivationForm(rotary_dim=rotary_width(cfg), checked=True)
    return decoder(cfg, Style(window=window, kinds=kinds), form)
