"""GLM-4: LLaMA's blocks with biases on q, k and v and half of each head rotated; GLM-4-0414 has four norms a layer.

Source: transformers 5.24 models/{glm,glm4}.
"""

from kvplan.core.forms import ActivationForm
from kvplan.core.model import ModelSpec
from kvplan.specs.config import Config
from kvplan.specs.parts.decoder import Style, completed, decoder, rotary_width

MODEL_TYPES = ("glm", "glm4")

_CLASS: dict[str, object] = {
    **{"vocab_size": 151552, "hidden_size": 4096, "intermediate_size": 13696, "num_hidden_layers": 40, "num_attention_heads": 32},
    **{"num_key_value_heads": 2, "head_dim": 128, "max_position_embeddings": 131072},
}


def build(cfg: Config) -> ModelSpec:
    """Biases are on by default and never on the output."""
    is_glm4 = cfg.text("model_type") == "glm4"
    cfg = completed(cfg, _CLASS)
    style = Style(qkv_bias=cfg.flag("attention_bias", default=True))
    if is_glm4:
        style = style._replace(layer_norms=(*style.layer_norms, "post_self_attn_layernorm", "post_mlp_layernorm"))
    norm = "4H + 2fH" if is_glm4 else "3H + 2fH"
    form = ActivationForm(norm=norm, mlp=("4H + 4I",), rotary_dim=rotary_width(cfg, default=0.5), checked=True)
    return decoder(cfg, style, form)
