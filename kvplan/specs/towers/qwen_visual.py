"""The first Qwen-VL's image encoder: OpenCLIP's ViT-bigG and queries that resample it.

Source: visual.py of Qwen/Qwen-VL; Bai et al. 2023, arXiv:2308.12966 §2.1.
"""

from kvplan.specs.config import Config
from kvplan.specs.parts.blocks import linear, norm
from kvplan.specs.parts.tower import Block, Tower, blocks, conv, parameter, scaled

MODEL_TYPES = ("qwen_visual",)
_POSITIONS = 256  # whatever the image's size: they are resampled


def build(cfg: Config) -> Tower:
    """``n_queries`` queries attend once; their positions and a square matrix at the end are parameters too."""
    width, out, side = cfg.integer("width"), cfg.integer("output_dim"), cfg.integer("patch_size")
    queries = cfg.integer("n_queries", default=256)
    block = Block(width, scaled(cfg, "mlp_ratio", width))
    groups = (
        *conv("conv1", width, 3, side, side, bias=False),
        parameter("positional_embedding", _POSITIONS, width),
        *norm("ln_pre", width, bias=True),
        *blocks(cfg.integer("layers"), block, name="transformer.resblocks"),
        parameter("attn_pool.query", queries, out),
        parameter("attn_pool.pos_embed", queries, out),
        *(linear("attn_pool.kv_proj", out, width, role="vision") if width != out else ()),
        *linear("attn_pool.attn.in_proj", 3 * out, out, role="vision", bias=True),
        *linear("attn_pool.attn.out_proj", out, out, role="vision", bias=True),
        *(group for name in ("attn_pool.ln_q", "attn_pool.ln_kv", "ln_post") for group in norm(name, out, bias=True)),
        parameter("proj", out, out),
    )
    return Tower(groups, out)
