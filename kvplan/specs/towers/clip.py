"""CLIP's image encoder: a class token, learned positions, norms before and after pre-norm blocks.

Source: transformers 5.24 models/clip/modeling_clip.py (CLIPVisionModel); Radford et al. 2021, arXiv:2103.00020 §2.4.
"""

from kvplan.specs.config import Config
from kvplan.specs.parts.blocks import norm
from kvplan.specs.parts.tower import Block, Tower, blocks, conv, n_patches, parameter, sides

MODEL_TYPES = ("clip_vision_model",)


def build(cfg: Config) -> Tower:
    """CLIP ViT-B/32 unless the config says otherwise."""
    hidden = cfg.integer("hidden_size", default=768)
    block = Block(hidden, cfg.integer("intermediate_size", default=3072))
    groups = (
        parameter("embeddings.class_embedding", hidden),
        *conv("embeddings.patch_embedding", hidden, cfg.integer("num_channels", default=3), *sides(cfg, "patch_size", 32), bias=False),
        parameter("embeddings.position_embedding.weight", n_patches(cfg, 224, 32) + 1, hidden),
        *norm("pre_layrnorm", hidden, bias=True),
        *blocks(cfg.integer("num_hidden_layers", default=12), block, name="encoder.layers"),
        *norm("post_layernorm", hidden, bias=True),
    )
    return Tower(groups, hidden)
