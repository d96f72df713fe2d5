"""Llama 4's image encoder: unfolded patches, a class token, rotary and learned positions, an adapter after pixel shuffle.

Source: transformers 5.24 models/llama4/modeling_llama4.py (Llama4VisionModel).
"""

from kvplan.specs.config import Config
from kvplan.specs.parts.blocks import linear, norm
from kvplan.specs.parts.tower import Block, Tower, blocks, conv, parameter

MODEL_TYPES = ("llama4_vision_model",)


def build(cfg: Config) -> Tower:
    """The adapter's input width is ``intermediate_size``: what pixel shuffle makes of ``hidden_size``."""
    hidden, intermediate = cfg.integer("hidden_size", default=768), cfg.integer("intermediate_size", default=5632)
    side = cfg.integer("patch_size", default=14)
    positions = (cfg.integer("image_size", default=448) // side) ** 2 + 1
    width = cfg.integer("projector_output_dim", default=4096)
    groups = (
        *conv("patch_embedding.linear", hidden, cfg.integer("num_channels", default=3), side, side, bias=False),
        parameter("class_embedding", hidden),
        parameter("positional_embedding_vlm", positions, hidden),
        *norm("layernorm_pre", hidden, bias=True),
        *norm("layernorm_post", hidden, bias=True),
        *blocks(cfg.integer("num_hidden_layers", default=34), Block(hidden, intermediate), name="model.layers"),
        *linear("vision_adapter.mlp.fc1", cfg.integer("projector_input_dim", default=4096), intermediate, role="vision"),
        *linear("vision_adapter.mlp.fc2", width, width, role="vision"),
    )
    return Tower(groups, cfg.integer("vision_output_dim", default=7680))
