"""DeepSeek-VL and DeepSeek-VL2: SigLIP, alone or beside SAM, and a projector to the language model.

Source: transformers 5.24 models/{deepseek_vl,deepseek_vl_hybrid}; modeling_deepseek_vl_v2.py of deepseek-ai/DeepSeek-VL2;
arXiv:2403.05525 §2, arXiv:2412.10302 §2.
"""

from kvplan.core.model import ModelSpec
from kvplan.specs.config import MAX_LAYERS, Config
from kvplan.specs.parts.blocks import Groups, linear, norm
from kvplan.specs.parts.multimodal import any_tower, joined, mlp_projector
from kvplan.specs.parts.nested import language_model
from kvplan.specs.parts.siglip_vit import siglip_vit
from kvplan.specs.parts.tower import Tower, conv, parameter, part

MODEL_TYPES = ("deepseek_vl", "deepseek_vl_hybrid", "deepseek_vl_v2")


def build(cfg: Config) -> ModelSpec:
    """The second version is the repository's own code, with keys of its own."""
    kind = cfg.text("model_type")
    if kind == "deepseek_vl_v2":
        return _second(cfg)
    text = language_model(cfg, default_type="llama", tied=cfg.flag("tie_word_embeddings", default=True))
    vision = any_tower(cfg, default="siglip_vision_model")
    seen = part("vision_model", vision.groups, "vision")
    if kind == "deepseek_vl":
        return joined(text, seen, mlp_projector(vision.width, text.hidden_size, text.hidden_size, name="aligner.linear"))
    return joined(text, seen, *_high_resolution(cfg), _hybrid_aligner(cfg, vision.width, text.hidden_size))


def _high_resolution(cfg: Config) -> tuple[Groups, Groups]:
    """SAM, whose features pass a neck of their own once more and two strided convolutions."""
    sam = any_tower(cfg, "high_res_vision_config", default="sam_vision_model")
    hidden = cfg.sub("high_res_vision_config").integer("hidden_size", default=768)
    more = (
        *conv("high_res_vision_neck.conv1", sam.width, hidden, 1, 1, bias=False),
        *norm("high_res_vision_neck.layer_norm1", sam.width, bias=True),
        *conv("high_res_vision_neck.conv2", sam.width, sam.width, 3, 3, bias=False),
        *norm("high_res_vision_neck.layer_norm2", sam.width, bias=True),
        *conv("high_res_vision_proj.conv1", 2 * sam.width, sam.width, 3, 3, bias=False),
        *conv("high_res_vision_proj.conv2", 4 * sam.width, 2 * sam.width, 3, 3, bias=False),
        parameter("high_res_vision_alpha", 1),
    )
    return part("high_res_vision_model.vision_encoder", sam.groups, "vision"), part("model", more, "vision")


def _hybrid_aligner(cfg: Config, width: int, hidden: int) -> Groups:
    """Half of the language model's width for each encoder, then one layer over both."""
    high = 4 * cfg.sub("high_res_vision_config").integer("output_channels", default=256)
    return (
        *linear("aligner.vision_proj", hidden // 2, width, role="projector", bias=True),
        *linear("aligner.high_res_vision_proj", hidden // 2, high, role="projector", bias=True),
        *linear("aligner.proj", hidden, hidden, role="projector", bias=True),
    )


def _second(cfg: Config) -> ModelSpec:
    text = language_model(cfg, "language_config", default_type="deepseek_v2")
    vision = siglip_vit(cfg.sub("vision_config"))
    sizes = cfg.sub("projector_config")
    width = sizes.integer("n_embed", default=2048)
    marks = _marks(cfg, width)
    return joined(
        text, part("vision", vision.groups, "vision"), part("projector", (*_projector(sizes, vision, width), *marks), "projector")
    )


def _projector(cfg: Config, vision: Tower, width: int) -> Groups:
    kind, n_in = cfg.text("projector_type", default="downsample_mlp_gelu"), cfg.integer("input_dim", default=vision.width)
    depth, wide = cfg.integer("depth", default=2, most=MAX_LAYERS), width * cfg.integer("mlp_ratio", default=1)
    pooling = linear("token_pooling_layer", n_in, 4 * n_in, role="projector", bias=True) if cfg.flag("token_pooling", default=False) else ()
    if kind == "downsample_mlp_gelu":
        merged = n_in * cfg.integer("downsample_ratio", default=2) ** 2
        return (*pooling, *mlp_projector(merged, *(wide for _ in range(depth - 1)), width, name="layers."))
    if kind == "mlp_gelu":
        return (*pooling, *mlp_projector(n_in, *(width for _ in range(depth)), name="layers."))
    if kind in ("linear", "identity"):
        return (*pooling, *(mlp_projector(n_in, width, name="layers.") if kind == "linear" else ()))
    raise cfg.error("projector_type", f"unknown projector '{kind}'", hint="known: downsample_mlp_gelu, mlp_gelu, linear, identity")


def _marks(cfg: Config, width: int) -> Groups:
    """Learned separators: of lines and views in two dimensions, one for each tile in one."""
    if cfg.text("tile_tag", default="2D") == "2D":
        return parameter("image_newline", width), parameter("view_seperator", width)
    found = cfg.data.get("candidate_resolutions")
    n_tiles = len(found) if isinstance(found, list) else 1
    return (parameter("tile_indicators", n_tiles + 1, width),)
