"""SigLIP as DeepSeek's own repositories build it: timm's vision transformer with an attention pool that stays unused.

Source: siglip_vit.py of deepseek-ai/Janus and deepseek-ai/DeepSeek-VL2; the total of deepseek-ai/deepseek-vl2-tiny.
"""

from kvplan.specs.config import Config
from kvplan.specs.parts.blocks import norm
from kvplan.specs.parts.tower import Block, Tower, blocks, conv, parameter, pooling_head, scaled

_LARGE: dict[str, object] = {"image_size": 384, "patch_size": 16, "width": 1024, "layers": 24, "mlp_ratio": 4}
_SO400M: dict[str, object] = {"image_size": 384, "patch_size": 14, "width": 1152, "layers": 27, "mlp_ratio": 3.7362}
_NAMED = {
    "siglip_large_patch16_384": _LARGE,
    "siglip_so400m_patch14_384": _SO400M,
    "siglip_so400m_patch14_224": {**_SO400M, "image_size": 224},
}


def siglip_vit(cfg: Config) -> Tower:
    """The encoder that ``model_name`` selects in that code; sizes that the config gives take precedence.

    ``select_layer`` −1 keeps every layer, −2 leaves out the last. Raises ConfigError for a name that the code doesn't know.
    """
    name = cfg.text("model_name", default="siglip_large_patch16_384")
    if name not in _NAMED:
        raise cfg.error("model_name", f"unknown tower '{name}': its weights can't be counted", hint=f"known: {', '.join(_NAMED)}")
    cfg = cfg.with_defaults(_NAMED[name])
    hidden, side, n_layers = cfg.integer("width"), cfg.integer("patch_size"), cfg.integer("layers")
    last = cfg.integer("select_layer", default=-1, least=-n_layers, most=n_layers)
    n_layers = min(n_layers, n_layers + last + 1) if last < 0 else min(n_layers, last)
    inner = scaled(cfg, "mlp_ratio", hidden)
    groups = (
        *conv("patch_embed.proj", hidden, 3, side, side),
        parameter("pos_embed", (cfg.integer("image_size") // side) ** 2, hidden),
        *blocks(n_layers, Block(hidden, inner), name="blocks"),
        *norm("norm", hidden, bias=True),
        *pooling_head(hidden, inner),
    )
    return Tower(groups, hidden)
