"""Hunyuan-VL, Cosmos 3 Edge and Granite 4 Vision.

Source: transformers 5.24 models/{hunyuan_vl,cosmos3_edge,granite4_vision}.
"""

from kvplan.core.model import ModelSpec
from kvplan.specs.config import Config
from kvplan.specs.parts.blocks import Groups, copies, linear, norm
from kvplan.specs.parts.multimodal import any_tower, joined, mlp_projector, tied_to_text, tower
from kvplan.specs.parts.nested import amended, inner_or_flat, language_model, text_model
from kvplan.specs.parts.qformer import qformer
from kvplan.specs.parts.tower import Tower, parameter, part

MODEL_TYPES = ("hunyuan_vl", "cosmos3_edge", "granite4_vision")
_SPATIAL = 4  # groups of offsets in which the spatial projectors sample the image


def build(cfg: Config) -> ModelSpec:
    """Each family's own parts around the language model."""
    makers = {"hunyuan_vl": _hunyuan, "cosmos3_edge": _cosmos, "granite4_vision": _granite}
    return makers[cfg.text("model_type")](cfg)


def _hunyuan(cfg: Config) -> ModelSpec:
    """The language model's keys may stand at the top."""
    inner = inner_or_flat(cfg).renamed({"attention_head_dim": "head_dim"}).with_defaults({"tie_word_embeddings": True})
    text = text_model(inner, kind="hunyuan_vl_text", like="hunyuan_v1_dense", tied=tied_to_text(cfg, default=True))
    sizes = {**cfg.sub("vision_config").data, "text_hidden_size": text.hidden_size}
    vision = tower(amended(cfg, vision_config=sizes), kind="hunyuan_vl_vision")
    return joined(text, part("vision_tower", vision.groups, "vision"))


def _cosmos(cfg: Config) -> ModelSpec:
    """A norm of each patch, then two layers over a square of them. Embeddings are never tied."""
    text = language_model(cfg, kind="cosmos3_edge_text", like="arcee", tied=False)
    vision = tower(cfg, kind="cosmos3_edge_vision")
    merged = vision.width * cfg.sub("vision_config").integer("spatial_merge_size", default=2) ** 2
    inner = cfg.integer("projector_hidden_size", default=11520)
    projector = (*norm("norm", vision.width, bias=True), *mlp_projector(merged, inner, text.hidden_size, name="linear_fc"))
    return joined(text, part("visual", vision.groups, "vision"), part("projector", projector, "projector"))


def _granite(cfg: Config) -> ModelSpec:
    """A querying transformer over windows for each layer that feeds the decoder, and four that sample the image."""
    text = language_model(cfg, kind="granite4_vision_text", like="granite", tied=cfg.flag("tie_word_embeddings", default=False))
    vision = any_tower(cfg, default="clip_vision_model")
    pairs = cfg.data.get("deepstack_layer_map")
    if not isinstance(pairs, list):
        raise cfg.error("deepstack_layer_map", "missing: expected a list of pairs of layers")
    newline = parameter("image_newline", text.hidden_size)._replace(role="projector")
    projectors = copies(part("projectors", _downsampler(cfg, vision, text.hidden_size), "projector"), len(pairs) + _SPATIAL)
    return joined(text, part("vision_tower", vision.groups, "vision"), projectors, (newline,))


def _downsampler(cfg: Config, vision: Tower, hidden: int) -> Groups:
    """``downsample_rate`` names the sides of the queries' and the image's window, as in 4/8."""
    sides = cfg.text("downsample_rate").split("/")
    if len(sides) != 2 or not all(side.isdecimal() for side in sides):
        raise cfg.error("downsample_rate", f"expected two sides as in 4/8, found '{cfg.text('downsample_rate')}'")
    width, defaults = vision.width, {"num_hidden_layers": 1, "intermediate_size": 3072, "cross_attention_frequency": 1}
    sizes = cfg.sub("qformer_config")
    sizes = amended(sizes if sizes.data else sizes.with_defaults(defaults), hidden_size=width, encoder_hidden_size=width)
    return (
        *qformer(sizes),
        *norm("norm", width, bias=True),
        parameter("query", int(sides[0]) ** 2, width),
        parameter("image_positions", int(sides[1]) ** 2, width),
        *linear("out_linear", hidden, width, role="projector", bias=True),
    )
