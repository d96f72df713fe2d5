"""Janus: an encoder to see with and a tokenizer with its own head to draw with, around one language model.

Source: transformers 5.24 models/janus; modeling_vlm.py and siglip_vit.py of deepseek-ai/Janus (``multi_modality``); Wu et al. 2024,
arXiv:2410.13848 §3.
"""

from kvplan.core.model import Caveat, ModelSpec
from kvplan.specs.config import MAX_LAYERS, Config
from kvplan.specs.parts.blocks import Groups, linear
from kvplan.specs.parts.multimodal import joined, tower
from kvplan.specs.parts.nested import language_model
from kvplan.specs.parts.siglip_vit import siglip_vit
from kvplan.specs.parts.tower import conv, parameter, part, several
from kvplan.specs.parts.vqgan import Pyramid, decoder, encoder

MODEL_TYPES = ("janus", "multi_modality")
_HYBRID = Caveat(
    "KV009",
    "warning",
    "the vision tower joins encoders that only the repository's code describes: their weights are not counted",
    "add the bytes of vision_model and aligner in the checkpoint's index",
)


def build(cfg: Config) -> ModelSpec:
    """Transformers' class, or the repository's own, whose parts carry their sizes under ``params``."""
    if cfg.text("model_type") == "multi_modality":
        return _remote(cfg)
    text = language_model(cfg, default_type="llama", tied=cfg.flag("tie_word_embeddings", default=True))
    vision_cfg, vq = cfg.sub("vision_config"), cfg.sub("vq_config")
    width = vision_cfg.integer("projection_dim", default=2048)
    aligner = _mlp("aligner", tower(cfg, kind="janus_vision_model").width, width, vision_cfg.integer("depth", default=2, most=MAX_LAYERS))
    return joined(
        text,
        part("vision_model", tower(cfg, kind="janus_vision_model").groups, "vision"),
        aligner,
        part("vqmodel", _tokenizer(vq), "vision"),
        _drawing(vq.integer("num_embeddings", default=16384), vq.integer("embed_dim", default=8), _head(vq)),
    )


def _remote(cfg: Config) -> ModelSpec:
    text = language_model(cfg, "language_config", default_type="llama")
    vision, sizes = cfg.sub("vision_config"), cfg.sub("aligner_config").sub("params")
    if vision.text("cls", default="CLIPVisionTower") != "CLIPVisionTower":
        return joined(text, caveats=(_HYBRID,))
    seen = siglip_vit(vision.sub("params"))
    aligner = _mlp("aligner", sizes.integer("input_dim"), sizes.integer("n_embed"), sizes.integer("depth", default=1, most=MAX_LAYERS))
    parts = (part("vision_model.vision_tower", seen.groups, "vision"), aligner)
    if not cfg.has("gen_vision_config"):
        return joined(text, *parts)
    codes, head = cfg.sub("gen_vision_config").sub("params"), cfg.sub("gen_head_config").sub("params")
    n_codes, dim = codes.integer("image_token_size", default=16384), codes.integer("n_embed", default=8)
    depth = cfg.sub("gen_aligner_config").sub("params").integer("depth", default=1, most=MAX_LAYERS)
    sizes_drawn = (head.integer("n_embed"), head.integer("image_token_embed"), depth)
    return joined(
        text, *parts, part("gen_vision_model", _tokenizer(Config({}, where=cfg.where)), "vision"), _drawing(n_codes, dim, sizes_drawn)
    )


def _mlp(name: str, n_in: int, n_out: int, depth: int) -> Groups:
    """``depth`` linear layers, all but the first square."""
    first = linear(f"{name}.fc1", n_out, n_in, role="projector", bias=True)
    return (*first, *(g for i in range(1, depth) for g in linear(f"{name}.hidden_layers.{i}", n_out, n_out, role="projector", bias=True)))


def _head(vq: Config) -> tuple[int, int, int]:
    """Width of the language model's side, of the head's inside, and the depth of the drawing aligner."""
    width = vq.integer("projection_dim", default=2048)
    return vq.integer("image_token_embed_dim", default=2048), width, vq.integer("num_hidden_layers", default=2, most=MAX_LAYERS)


def _tokenizer(vq: Config) -> Groups:
    factors, n_blocks = several(vq, "channel_multiplier", (1, 1, 2, 2, 4)), vq.integer("num_res_blocks", default=2, most=MAX_LAYERS)
    shape = Pyramid(vq.integer("base_channels", default=128), factors, n_blocks, (len(factors) - 1,))
    latent, dim = vq.integer("latent_channels", default=256), vq.integer("embed_dim", default=8)
    double = 2 if vq.flag("double_latent", default=False) else 1
    return (
        *encoder(shape, vq.integer("in_channels", default=3), double * latent),
        parameter("quantize.embedding.weight", vq.integer("num_embeddings", default=16384), dim),
        *conv("quant_conv", dim, latent, 1, 1),
        *conv("post_quant_conv", latent, dim, 1, 1),
        *decoder(shape, latent, vq.integer("out_channels", default=3)),
    )


def _drawing(n_codes: int, dim: int, sizes: tuple[int, int, int]) -> Groups:
    """Embeddings of image tokens, their way into the language model, and the head that predicts them."""
    n_in, width, depth = sizes
    return (
        parameter("generation_embeddings.weight", n_codes, dim)._replace(role="projector"),
        *_mlp("generation_aligner", dim, width, depth),
        *linear("generation_head.proj_out", width, n_in, role="projector", bias=True),
        *linear("generation_head.vision_head", n_codes, width, role="projector", bias=True),
    )
