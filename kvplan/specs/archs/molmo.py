"""Molmo 2: an encoder cut off after the last layer that is used, attention that pools patches, a gated projector.

Source: transformers 5.24 models/molmo2; Clark et al. 2025 (Molmo 2 report).
"""

from kvplan.core.forms import ActivationForm
from kvplan.core.model import ModelSpec
from kvplan.specs.config import Config
from kvplan.specs.parts.blocks import Groups, linear
from kvplan.specs.parts.decoder import Style, decoder, rotary_width
from kvplan.specs.parts.forms import NORMED_ROTATION
from kvplan.specs.parts.multimodal import joined, tower
from kvplan.specs.parts.nested import amended, filled, text_config
from kvplan.specs.parts.tower import Block, Tower, encoder_attention, part

MODEL_TYPES = ("molmo2",)
_FEATURES = (24, 18)


def build(cfg: Config) -> ModelSpec:
    """``vit_config`` is the published name of the encoder's config, which then counts its unused layers too."""
    text = _language_model(filled(text_config(cfg), "molmo2_text"))
    adapter = cfg.sub("adapter_config")
    features = next((adapter.integers(key, least=-64) for key in ("vit_layers", "vision_feature_layer") if adapter.has(key)), _FEATURES)
    if not features:
        raise adapter.error("vision_feature_layer", "expected one layer at least, found an empty list")
    if cfg.has("vision_config") or not cfg.has("vit_config"):
        vision = tower(cfg, kind="molmo2_vision")
    else:
        n_layers = cfg.sub("vit_config").integer("num_hidden_layers", default=25)
        used = max(layer % n_layers for layer in features) + 1
        whole = amended(cfg.sub("vit_config"), num_hidden_layers=used)
        vision = tower(amended(cfg, vit_config=dict(whole.data)), "vit_config", kind="molmo2_vision")
    return joined(
        text,
        part("vision_tower", vision.groups, "vision"),
        part("multi_modal_projector", _adapter(adapter, vision, len(features)), "projector"),
    )


def _language_model(cfg: Config) -> ModelSpec:
    """LLaMA's blocks with norms on q and k, of each head or of all; more rows in the embeddings than outputs, never tied."""
    kind = cfg.text("qk_norm_type", default="qwen3")
    style = Style(qkv_bias=cfg.flag("attention_bias", default=False), qk_norm="head" if kind == "qwen3" else "full")
    spec = decoder(amended(cfg, tie_word_embeddings=False), style, ActivationForm(rotary_dim=rotary_width(cfg), attention=NORMED_ROTATION))
    more = cfg.integer("additional_vocab_size", default=128, least=0)
    weights = tuple(group._replace(rows=group.rows + more) if group.role == "embedding" else group for group in spec.weights)
    return spec._replace(weights=weights)


def _adapter(cfg: Config, vision: Tower, n_features: int) -> Groups:
    hidden, inner = cfg.integer("hidden_size", default=vision.width), cfg.integer("intermediate_size", default=18944)
    head_dim, bias = cfg.integer("head_dim", default=72), cfg.flag("attention_bias", default=True)
    q_width = cfg.integer("num_attention_heads", default=16) * head_dim
    block = Block(
        hidden * n_features,
        1,
        qkv_bias=bias,
        inner=q_width,
        kv_inner=cfg.integer("num_key_value_heads", default=16) * head_dim,
    )
    pooling = tuple(group for group in encoder_attention("image_pooling_2d", block) if "out_proj" not in group.name)
    mlp_bias = cfg.flag("mlp_bias", default=False)
    return (
        *pooling,
        *linear("image_pooling_2d.o_proj", hidden, q_width, role="projector", bias=bias),
        *linear("image_projector.gate_proj", inner, hidden, role="projector", bias=mlp_bias),
        *linear("image_projector.up_proj", inner, hidden, role="projector", bias=mlp_bias),
        *linear("image_projector.down_proj", cfg.integer("text_hidden_size", default=3584), inner, role="projector"),
    )
