"""The image and video encoder of Qwen3-VL and later: learned positions, and mergers that feed several decoder layers (DeepStack).

Source: transformers 5.24 models/{qwen3_vl,qwen3_vl_moe,qwen3_5,qwen3_5_moe,qwen3_omni_moe,cohere_compass,qwen4_exp};
Meng et al. 2024, arXiv:2406.04334.
"""

from kvplan.specs.config import Config
from kvplan.specs.parts.blocks import Groups, linear, norm
from kvplan.specs.parts.tower import Block, Tower, blocks, parameter, patches_3d

MODEL_TYPES = (
    "qwen3_vl_vision",
    "qwen3_vl_moe_vision",
    "qwen3_omni_moe_vision_encoder",
    "qwen3_5_vision",
    "qwen3_5_moe_vision",
    "cohere_compass_vision",
    "qwen4_exp_vision",
)
_ONE_MERGER = ("qwen3_5_vision", "qwen3_5_moe_vision", "qwen4_exp_vision")


def build(cfg: Config) -> Tower:
    """One merger after the last block, and one for each of ``deepstack_visual_indexes`` where the kind has them."""
    hidden, out = cfg.integer("hidden_size", default=1152), cfg.integer("out_hidden_size", default=3584)
    merged = hidden * cfg.integer("spatial_merge_size", default=2) ** 2
    deep = 0 if cfg.text("model_type") in _ONE_MERGER else len(cfg.integers("deepstack_visual_indexes", default=(8, 16, 24)))
    block = Block(hidden, cfg.integer("intermediate_size", default=4304))
    groups = (
        *patches_3d(cfg, hidden, patch=16),
        parameter("pos_embed.weight", cfg.integer("num_position_embeddings", default=2304), hidden),
        *blocks(cfg.integer("depth", "num_hidden_layers", default=27), block, name="blocks"),
        *_merger("merger", hidden, merged, out),
        *(group for i in range(deep) for group in _merger(f"deepstack_merger_list.{i}", merged, merged, out)),
    )
    return Tower(groups, out)


def _merger(name: str, normed: int, merged: int, out: int) -> Groups:
    """A norm and two layers over the patches of one square."""
    return (
        *norm(f"{name}.norm", normed, bias=True),
        *linear(f"{name}.linear_fc1", merged, merged, role="vision", bias=True),
        *linear(f"{name}.linear_fc2", out, merged, role="vision", bias=True),
    )
