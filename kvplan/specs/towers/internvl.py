"""InternVL's image encoder (InternViT): a class token, learned positions, learned scales on both halves of a block.

Source: transformers 5.24 models/{internvl,qianfan_ocr}; configuration_intern_vit.py of OpenGVLab/InternVL2-8B;
Chen et al. 2023, arXiv:2312.14238 §3.2.
"""

from kvplan.specs.config import Config
from kvplan.specs.parts.blocks import norm
from kvplan.specs.parts.tower import Block, Tower, blocks, conv, n_patches, parameter, sides

MODEL_TYPES = ("internvl_vision", "qianfan_ocr_vision", "intern_vit_6b")
_REMOTE: dict[str, object] = {
    **{"hidden_size": 3200, "intermediate_size": 12800, "num_hidden_layers": 48, "image_size": 224, "patch_size": 14},
    **{"qkv_bias": False, "qk_normalization": True, "norm_type": "rms_norm"},
}


def build(cfg: Config) -> Tower:
    """InternViT-300M unless the config says otherwise; the 6B one has ``use_qk_norm`` and ``norm_type: rms_norm``."""
    if cfg.text("model_type") == "intern_vit_6b":
        cfg = cfg.with_defaults(_REMOTE).renamed({"qkv_bias": "attention_bias", "qk_normalization": "use_qk_norm"})
    hidden = cfg.integer("hidden_size", default=1024)
    kind = cfg.text("norm_type", default="layer_norm")
    if kind not in ("layer_norm", "rms_norm"):
        raise cfg.error("norm_type", f"expected layer_norm or rms_norm, found '{kind}'")
    block = Block(
        hidden,
        cfg.integer("intermediate_size", default=4096),
        qkv_bias=cfg.flag("attention_bias", default=cfg.text("model_type") == "qianfan_ocr_vision"),
        norm_bias=kind == "layer_norm",
        layer_scales=2,
        qk_norm=hidden if cfg.flag("use_qk_norm", default=False) else 0,
    )
    learned = cfg.flag("use_absolute_position_embeddings", default=True)
    groups = (
        parameter("embeddings.cls_token", 1, hidden),
        *((parameter("embeddings.mask_token", 1, hidden),) if cfg.flag("use_mask_token", default=False) else ()),
        *conv("embeddings.patch_embeddings.projection", hidden, cfg.integer("num_channels", default=3), *sides(cfg, "patch_size", 14)),
        *((parameter("embeddings.position_embeddings", n_patches(cfg, 448, 14) + 1, hidden),) if learned else ()),
        *blocks(cfg.integer("num_hidden_layers", default=24), block, name="encoder.layer"),
        *(() if cfg.flag("use_mean_pooling", default=True) else norm("layernorm", hidden, bias=True)),
    )
    return Tower(groups, hidden)
