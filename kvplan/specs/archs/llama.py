"""LLaMA and the families that share its blocks: RMS norm, rotary GQA, SwiGLU.

EXAONE 3, InternLM 3 and IQuest-Coder are built of LLaMA's own classes in Transformers; XVERSE, Aquila, InternLM 1, the
first Yi, Solar Pro and Tele-FLM bring code of their own with the same tensors.

Source: transformers 5.24 models/llama/modeling_llama.py, models/{exaone,internlm3,iquestcoder}/configuration_*.py;
modeling_{xverse,aquila,internlm,yi,solar,teleflm}.py of their repositories; Touvron et al. 2023, arXiv:2302.13971 §2.2.
"""

from kvplan.core.forms import ActivationForm
from kvplan.core.model import ModelSpec
from kvplan.specs.config import Config
from kvplan.specs.parts.decoder import Style, completed, decoder, rotary_width

MODEL_TYPES = ("llama", "exaone", "internlm", "internlm3", "iquestcoder", "xverse", "aquila", "Yi", "solar", "TeleFLM")

_SIZES = {"hidden_size": 4096, "intermediate_size": 11008, "num_hidden_layers": 32, "num_attention_heads": 32}
_CLASS: dict[str, dict[str, object]] = {
    "llama": {**_SIZES, "vocab_size": 32000, "max_position_embeddings": 2048},
    "exaone": {**_SIZES, "vocab_size": 102400, "intermediate_size": 14336, "num_key_value_heads": 8, "max_position_embeddings": 4096},
    "internlm": {"attention_bias": True},
    "internlm3": {
        **{**_SIZES, "vocab_size": 128512, "intermediate_size": 10240, "num_hidden_layers": 48},
        **{"num_key_value_heads": 2, "head_dim": 128, "max_position_embeddings": 32768},
    },
    "iquestcoder": {
        **{"vocab_size": 76800, "hidden_size": 5120, "intermediate_size": 27648, "num_hidden_layers": 80, "num_attention_heads": 40},
        **{"num_key_value_heads": 8, "head_dim": 128, "max_position_embeddings": 131072},
    },
}
_NAMES = {
    "exaone": {"num_layers": "num_hidden_layers", "activation_function": "hidden_act"},
    "internlm": {"bias": "attention_bias"},
    "internlm3": {"qkv_bias": "attention_bias", "bias": "mlp_bias"},
}


def build(cfg: Config) -> ModelSpec:
    """Biases as the config says; none by default, but InternLM 1 has them on the attention."""
    model_type = cfg.text("model_type", default="llama")
    cfg = completed(cfg.renamed(_NAMES.get(model_type, {})), _CLASS.get(model_type, {}))
    bias = cfg.flag("attention_bias", default=False)
    style = Style(qkv_bias=bias, o_bias=bias, mlp_bias=cfg.flag("mlp_bias", default=False))
    return decoder(
        cfg, style, ActivationForm(rotary_dim=rotary_width(cfg), checked=model_type in ("llama", "exaone", "internlm3", "iquestcoder"))
    )
