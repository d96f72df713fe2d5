"""The first Molmo: OLMo's or Qwen2's blocks in one code, CLIP without its last layer, attention that pools patches.

Source: modeling_molmo.py and config_molmo.py of allenai/Molmo-7B-D-0924; Deitke et al. 2024, arXiv:2409.17146 §2.
"""

from kvplan.core.forms import ActivationForm
from kvplan.core.model import ModelSpec
from kvplan.specs.config import Config
from kvplan.specs.parts.blocks import Groups, linear
from kvplan.specs.parts.decoder import Style, decoder, rotary_width
from kvplan.specs.parts.forms import FUSED_CORE, NORMED_ROTATION, ROTATION
from kvplan.specs.parts.multimodal import joined, tower
from kvplan.specs.parts.nested import amended
from kvplan.specs.parts.tower import parameter, part

MODEL_TYPES = ("molmo",)
_CLIP: dict[str, object] = {
    "hidden_size": 1024,
    "intermediate_size": 4096,
    "num_hidden_layers": 23,
    "image_size": 336,
    "patch_size": 14,
}
_MORE_ROWS = 128  # embeddings of special tokens, beside the vocabulary's
_FEATURES = 2  # layers of the encoder that are pooled together


def build(cfg: Config) -> ModelSpec:
    """``intermediate_size`` is that of gate and up projection together; ``embedding_size`` the padded vocabulary."""
    both, hidden = cfg.integer("intermediate_size", least=2), cfg.integer("hidden_size")
    rows = cfg.integer("embedding_size", default=cfg.integer("vocab_size"))
    tied = cfg.flag("weight_tying", default=cfg.flag("tie_word_embeddings", default=False))
    inner = amended(cfg, intermediate_size=both // 2, vocab_size=rows, tie_word_embeddings=tied)
    qk_norm = cfg.flag("attention_layer_norm", default=False)
    style = Style(qkv_bias=cfg.flag("qkv_bias", default=False), qk_norm="full" if qk_norm else None)
    text = decoder(
        inner, style, ActivationForm(rotary_dim=rotary_width(inner), core=FUSED_CORE, attention=NORMED_ROTATION if qk_norm else ROTATION)
    )
    more = parameter("transformer.wte.new_embedding", _MORE_ROWS, hidden)._replace(role="embedding", shard="vocab")
    return joined(text, (more,), *_vision(both // 2, hidden))


def _vision(inner: int, hidden: int) -> tuple[Groups, Groups]:
    """The encoder is fixed in the code: CLIP ViT-L/14 at 336 pixels, up to its 23rd layer and without the last norm."""
    clip = tower(Config({"vision_config": _CLIP}, where=""), kind="clip_vision_model")
    kept = tuple(group for group in clip.groups if not group.name.startswith("post_layernorm"))
    pooled = _FEATURES * clip.width
    names = ("wq", "wk", "wv")
    adapter = (
        parameter("pad_embed", 2, pooled),
        *(group for name in names for group in linear(f"image_pooling_2d.{name}", clip.width, pooled, role="projector", bias=True)),
        *linear("image_pooling_2d.wo", clip.width, clip.width, role="projector", bias=True),
        *linear("image_projector.w1", inner, clip.width, role="projector"),
        *linear("image_projector.w3", inner, clip.width, role="projector"),
        *linear("image_projector.w2", hidden, inner, role="projector"),
    )
    return part("vision_backbone.image_vit", kept, "vision"), part("vision_backbone", adapter, "projector")
