"""SigLIP's image encoder, and the encoders built like it: learned positions without a class token, a pooling head where one is used.

Source: transformers 5.24 models/{siglip,siglip2,idefics2,idefics3,smolvlm,phi4_multimodal,paddleocr_vl,granite_docling,
video_llama_3,cosmos3_edge}; Zhai et al. 2023, arXiv:2303.15343.
"""

from typing import NamedTuple

from kvplan.specs.config import Config
from kvplan.specs.parts.blocks import Groups, norm
from kvplan.specs.parts.tower import Block, Tower, blocks, conv, n_patches, parameter, pooling_head, sides


class Defaults(NamedTuple):
    """What the configuration class of a kind has where its config says nothing."""

    hidden: int
    intermediate: int
    n_layers: int
    image: int  # 0 where there are no learned positions
    patch: int
    head: bool = False


_KINDS = {
    "siglip_vision_model": Defaults(768, 3072, 12, 224, 16, head=True),
    "siglip2_vision_model": Defaults(768, 3072, 12, 256, 16, head=True),
    "idefics2_vision": Defaults(768, 3072, 12, 224, 32),
    "idefics3_vision": Defaults(1152, 3072, 12, 224, 32),
    "smolvlm_vision": Defaults(1152, 3072, 12, 224, 32),
    "paddleocr_vl_vision": Defaults(1152, 4304, 27, 384, 14),
    "granite_docling_vision": Defaults(768, 3072, 12, 512, 16),
    "cosmos3_edge_vision": Defaults(1152, 4304, 27, 256, 16),
    "video_llama_3_vision": Defaults(768, 3072, 12, 0, 16),
    "phi4_multimodal_vision": Defaults(1152, 4304, 27, 448, 14, head=True),
}
MODEL_TYPES = tuple(_KINDS)


def build(cfg: Config) -> Tower:
    """``vision_use_head: false`` leaves the pooling head out where the kind has one."""
    kind = cfg.text("model_type")
    default = _KINDS[kind]
    hidden = cfg.integer("hidden_size", default=default.hidden)
    intermediate = cfg.integer("intermediate_size", default=default.intermediate)
    channels = cfg.integer("num_channels", default=3)
    groups = (
        *conv("embeddings.patch_embedding", hidden, channels, *sides(cfg, "patch_size", default.patch)),
        *_positions(cfg, hidden, default),
        *blocks(cfg.integer("num_hidden_layers", default=default.n_layers), Block(hidden, intermediate), name="encoder.layers"),
        *norm("post_layernorm", hidden, bias=True),
        *(pooling_head(hidden, intermediate) if default.head and cfg.flag("vision_use_head", default=True) else ()),
    )
    return Tower(groups, hidden)


def _positions(cfg: Config, hidden: int, default: Defaults) -> Groups:
    """One for each patch of an image; SigLIP 2 says how many, VideoLLaMA 3 rotates instead."""
    if not default.image:
        return ()
    siglip2 = cfg.text("model_type") in ("siglip2_vision_model", "cosmos3_edge_vision")
    count = cfg.integer("num_patches", default=256) if siglip2 else n_patches(cfg, default.image, default.patch)
    return (parameter("embeddings.position_embedding.weight", count, hidden),)
