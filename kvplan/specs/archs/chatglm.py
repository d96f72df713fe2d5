"""ChatGLM: the first with LayerNorm and GELU, 2 and 3 and GLM-4-9B with RMS norm, SwiGLU and few KV heads.

Source: modeling_chatglm.py and configuration_chatglm.py of zai-org/chatglm-6b, chatglm3-6b and glm-4-9b-chat.
"""

from kvplan.core.forms import ActivationForm
from kvplan.core.model import Caveat, ModelSpec
from kvplan.specs.config import Config
from kvplan.specs.parts.decoder import Style, decoder, rotary_width
from kvplan.specs.parts.forms import FUSED_CORE

MODEL_TYPES = ("chatglm",)
HEAD_IN_BASE = True
"""The class without ``For...`` in its name holds the output projection too."""

_EVA = Caveat(
    "KV014",
    "warning",
    "the image encoder is described by the repository's code alone: counted as that reads, not held to a checkpoint",
    "the checkpoint's index has the exact total",
)
_FIRST = {"num_layers": "num_hidden_layers", "inner_hidden_size": "intermediate_size"}
_LATER = {
    **{"num_layers": "num_hidden_layers", "ffn_hidden_size": "intermediate_size", "padded_vocab_size": "vocab_size"},
    **{"kv_channels": "head_dim"},
}


def build(cfg: Config) -> ModelSpec:
    """GLM-4V-9B has an image encoder. Raises ConfigError for a prompt encoder, which no plain ChatGLM has."""
    if cfg.has("pre_seq_len"):
        raise cfg.error("pre_seq_len", "is not supported in a ChatGLM", hint="point at the plain language model")
    text = _first(cfg.renamed(_FIRST)) if cfg.has("inner_hidden_size") else _later(cfg.renamed(_LATER))
    return _seeing(cfg, text) if cfg.has("vision_config") else text


def _seeing(cfg: Config, text: ModelSpec) -> ModelSpec:
    """``text`` with EVA-CLIP, whose projection is as wide inside as the decoder's feed-forward."""
    from kvplan.specs.parts.multimodal import joined, tower
    from kvplan.specs.parts.tower import part

    sizes = {"out_hidden_size": text.hidden_size, "ffn_hidden_size": cfg.integer("ffn_hidden_size"), **cfg.sub("vision_config").data}
    vision = tower(Config({"vision_config": sizes}, where=cfg.where), kind="glm4v_eva")
    return joined(text, part("transformer.vision", vision.groups, "vision"), caveats=(_EVA,))


def _first(cfg: Config) -> ModelSpec:
    """ChatGLM-6B: biases everywhere, embeddings tied to the output."""
    style = Style(qkv_bias=True, o_bias=True, mlp_bias=True, gated=False, norm_bias=True, tied=True)
    form = ActivationForm(rotary_dim=rotary_width(cfg, default=0.5), norm="5H", core=FUSED_CORE)
    return decoder(cfg, style, form)


def _later(cfg: Config) -> ModelSpec:
    """Since ChatGLM2: switches for biases and norms, and ``multi_query_group_num`` KV heads."""
    if cfg.flag("multi_query_attention", default=False):
        cfg = cfg.renamed({"multi_query_group_num": "num_key_value_heads"})
    bias = cfg.flag("add_bias_linear", default=False)
    rms_norm = cfg.flag("rmsnorm", default=True)
    style = Style(
        qkv_bias=bias or cfg.flag("add_qkv_bias", default=False),
        o_bias=bias,
        mlp_bias=bias,
        norm_bias=not rms_norm,
        final_norm=cfg.flag("post_layer_norm", default=True),
    )
    return decoder(
        cfg, style, ActivationForm(rotary_dim=rotary_width(cfg, default=0.5), norm="3H + 2fH" if rms_norm else "5H", core=FUSED_CORE)
    )
