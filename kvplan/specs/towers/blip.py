"""The image encoder of BLIP-2 and InstructBLIP: EVA-CLIP's vision transformer, q, k and v in one tensor.

Source: transformers 5.24 models/{blip_2,instructblip,instructblipvideo}; Li et al. 2023, arXiv:2301.12597 §3.
"""

from kvplan.specs.config import Config
from kvplan.specs.parts.blocks import norm
from kvplan.specs.parts.tower import Block, Tower, blocks, conv, parameter

MODEL_TYPES = ("blip_2_vision_model", "instructblip_vision_model", "instructblipvideo_vision_model")


def build(cfg: Config) -> Tower:
    """ViT-g/14 unless the config says otherwise; ``qkv_bias`` is one vector over q, k and v."""
    hidden, side = cfg.integer("hidden_size", default=1408), cfg.integer("patch_size", default=14)
    block = Block(hidden, cfg.integer("intermediate_size", default=6144), qkv_bias=cfg.flag("qkv_bias", default=True))
    groups = (
        parameter("embeddings.class_embedding", hidden),
        *conv("embeddings.patch_embedding", hidden, 3, side, side),
        parameter("embeddings.position_embedding", (cfg.integer("image_size", default=224) // side) ** 2 + 1, hidden),
        *blocks(cfg.integer("num_hidden_layers", default=39), block, name="encoder.layers"),
        *norm("post_layernorm", hidden, bias=True),
    )
    return Tower(groups, hidden)
