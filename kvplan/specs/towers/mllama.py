"""Llama 3.2's image encoder: tiles with gated position tables, a local and a gated global transformer.

Source: transformers 5.24 models/mllama/modeling_mllama.py (MllamaVisionModel); Llama 3 report, arXiv:2407.21783 §7.2.
"""

from kvplan.specs.config import Config
from kvplan.specs.parts.blocks import copies, norm
from kvplan.specs.parts.tower import Block, Tower, blocks, conv, parameter

MODEL_TYPES = ("mllama_vision_model",)
_RATIOS = 8  # supported_aspect_ratios of the class


def build(cfg: Config) -> Tower:
    """The features are those of the last layer and of each of ``intermediate_layers_indices``."""
    hidden, tiles = cfg.integer("hidden_size", default=1280), cfg.integer("max_num_tiles", default=4)
    side = cfg.integer("patch_size", default=14)
    positions, ratios = patch_positions(cfg), _n_aspect_ratios(cfg) + 1
    n_global = cfg.integer("num_global_layers", default=8, least=0)
    block = Block(hidden, cfg.integer("intermediate_size", default=5120), qkv_bias=False, o_bias=False)
    gates = (parameter("gate_attn", 1), parameter("gate_ffn", 1))
    tile_tables = ("pre_tile_positional_embedding", "post_tile_positional_embedding")
    groups = (
        parameter("class_embedding", hidden),
        *conv("patch_embedding", hidden, cfg.integer("num_channels", default=3), side, side, bias=False),
        parameter("gated_positional_embedding.gate", 1),
        parameter("gated_positional_embedding.embedding", positions, hidden),
        parameter("gated_positional_embedding.tile_embedding.weight", ratios, tiles * positions * hidden),
        *(parameter(f"{name}.gate", 1) for name in tile_tables),
        *(parameter(f"{name}.embedding.weight", ratios, tiles * hidden) for name in tile_tables),
        *norm("layernorm_pre", hidden, bias=True),
        *norm("layernorm_post", hidden, bias=True),
        *blocks(cfg.integer("num_hidden_layers", default=32), block, name="transformer.layers"),
        *(blocks(n_global, block, name="global_transformer.layers") if n_global else ()),
        *(copies(gates, n_global) if n_global else ()),
    )
    return Tower(groups, cfg.integer("vision_output_dim", default=7680))


def patch_positions(cfg: Config) -> int:
    """Positions of one tile: its patches and the class token."""
    return (cfg.integer("image_size", default=448) // cfg.integer("patch_size", default=14)) ** 2 + 1


def _n_aspect_ratios(cfg: Config) -> int:
    found = cfg.data.get("supported_aspect_ratios")
    if found is None:
        return _RATIOS
    if not isinstance(found, list) or not all(isinstance(item, list) for item in found):
        raise cfg.error("supported_aspect_ratios", "expected a list of pairs")
    return len(found)
