"""Chameleon: LLaMA's blocks with layer norms on q and k, over tokens of text and of images, and the tokenizer of these.

Source: transformers 5.24 models/chameleon; Chameleon team 2024, arXiv:2405.09818 §2.
"""

from kvplan.core.forms import ActivationForm
from kvplan.core.model import ModelSpec
from kvplan.specs.config import MAX_LAYERS, Config
from kvplan.specs.parts.blocks import Groups
from kvplan.specs.parts.decoder import Style, decoder, rotary_width
from kvplan.specs.parts.forms import NORMED_ROTATION
from kvplan.specs.parts.multimodal import joined
from kvplan.specs.parts.tower import conv, parameter, part, several
from kvplan.specs.parts.vqgan import Pyramid, encoder

MODEL_TYPES = ("chameleon",)


def build(cfg: Config) -> ModelSpec:
    """``swin_norm`` moves the norms and adds none; only the tokenizer's way down is there."""
    bias = cfg.flag("attention_bias", default=False)
    style = Style(qkv_bias=bias, o_bias=bias, mlp_bias=cfg.flag("mlp_bias", default=False), qk_norm="full", qk_norm_bias=True)
    text = decoder(cfg, style, ActivationForm(attention=NORMED_ROTATION, rotary_dim=rotary_width(cfg)))
    return joined(text, part("vqmodel", _tokenizer(cfg.sub("vq_config")), "vision"))


def _tokenizer(cfg: Config) -> Groups:
    kind = cfg.text("attn_type", default="vanilla")
    if kind != "vanilla":
        raise cfg.error("attn_type", f"expected vanilla, found '{kind}'")
    factors, side = several(cfg, "channel_multiplier", (1, 1, 2, 2, 4)), cfg.integer("resolution", default=512)
    attended = cfg.integers("attn_resolutions", default=())
    levels = tuple(i for i in range(len(factors)) if side // 2**i in attended)
    n_blocks = cfg.integer("num_res_blocks", default=2, most=MAX_LAYERS)
    shape = Pyramid(cfg.integer("base_channels", default=128), factors, n_blocks, levels)
    latent, dim = cfg.integer("latent_channels", default=256), cfg.integer("embed_dim", default=256)
    double = 2 if cfg.flag("double_latent", default=False) else 1
    return (
        *encoder(shape, cfg.integer("in_channels", default=3), double * latent),
        parameter("quantize.embedding.weight", cfg.integer("num_embeddings", default=8192), dim),
        *conv("quant_conv", dim, latent, 1, 1),
        *conv("post_quant_conv", latent, dim, 1, 1),
    )
