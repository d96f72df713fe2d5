"""Vision-language models without a family of wrappers: Aria, Fuyu, VideoLLaMA 3, EXAONE 4.5, HyperCLOVA X Vision, ERNIE 4.5 VL.

Source: transformers 5.24 models/{aria,fuyu,video_llama_3,exaone4_5,hyperclovax_vision_v2,ernie4_5_vl_moe}.
"""

from kvplan.core.model import ModelSpec
from kvplan.specs.config import Config
from kvplan.specs.parts.blocks import Groups, linear, norm
from kvplan.specs.parts.multimodal import any_tower, joined, mlp_projector, tied_to_text, tower
from kvplan.specs.parts.nested import amended, inner_or_flat, language_model, text_model
from kvplan.specs.parts.tower import parameter, part

MODEL_TYPES = ("aria", "fuyu", "video_llama_3", "exaone4_5", "hyperclovax_vision_v2", "ernie4_5_vl_moe", "ernie4_5_moe_vl")
_FUYU: dict[str, object] = {
    "vocab_size": 262144,
    "hidden_size": 4096,
    "intermediate_size": 16384,
    "num_hidden_layers": 36,
    "num_attention_heads": 64,
    "max_position_embeddings": 16384,
    "qk_layernorm": True,
}


def build(cfg: Config) -> ModelSpec:
    """Each family's own parts around the language model."""
    makers = {
        "aria": _aria,
        "fuyu": _fuyu,
        "video_llama_3": _video_llama,
        "exaone4_5": _exaone,
        "hyperclovax_vision_v2": _hyperclova,
        "ernie4_5_vl_moe": _ernie,
        "ernie4_5_moe_vl": _flat_ernie,
    }
    return makers[cfg.text("model_type")](cfg)


def _aria(cfg: Config) -> ModelSpec:
    """Queries, as many as the largest image may take, attend to the image and pass a feed-forward."""
    text = language_model(cfg, kind="aria_text", tied=cfg.flag("tie_word_embeddings", default=False))
    vision = any_tower(cfg, default="idefics3_vision")
    width = vision.width
    counts = list(cfg.sub("projector_patch_to_query_dict").data.values()) or [128, 256]
    if not all(type(count) is int and count > 0 for count in counts):
        raise cfg.error("projector_patch_to_query_dict", "expected whole numbers of queries")
    names = ("q_proj", "k_proj", "v_proj")
    projector = (
        parameter("query", max(int(str(count)) for count in counts), width),
        *(group for name in names for group in linear(f"cross_attn.{name}", width, width, role="projector")),
        *linear("cross_attn.multihead_attn.in_proj", 3 * width, width, role="projector", bias=True),
        *linear("cross_attn.multihead_attn.out_proj", width, width, role="projector", bias=True),
        *linear("cross_attn.linear", width, width, role="projector", bias=True),
        *(group for name in ("cross_attn.layer_norm", "cross_attn.layer_norm_kv", "layer_norm") for group in norm(name, width, bias=True)),
        *mlp_projector(width, text.hidden_size, text.hidden_size, bias=False, name="feed_forward."),
    )
    return joined(text, part("vision_tower", vision.groups, "vision"), part("multi_modal_projector", projector, "projector"))


def _fuyu(cfg: Config) -> ModelSpec:
    """No encoder: patches are projected into Persimmon, whose keys may stand at the top."""
    inner = inner_or_flat(cfg)
    if not cfg.has("text_config"):
        inner = inner.with_defaults(_FUYU)
    text = text_model(inner, default_type="persimmon", tied=cfg.flag("tie_word_embeddings", default=False))
    pixels = cfg.integer("patch_size", default=30) ** 2 * cfg.integer("num_channels", default=3)
    return joined(text, linear("vision_embed_tokens", text.hidden_size, pixels, role="projector", bias=True))


def _video_llama(cfg: Config) -> ModelSpec:
    text = language_model(cfg, default_type="qwen2", tied=tied_to_text(cfg, default=False))
    vision = tower(cfg, kind="video_llama_3_vision")
    projector = mlp_projector(vision.width, text.hidden_size, text.hidden_size, name="readout.")
    return joined(text, part("vision_model", vision.groups, "vision"), part("projector", projector, "projector"))


def _exaone(cfg: Config) -> ModelSpec:
    """Qwen2.5-VL's encoder with fewer key heads."""
    kind = "exaone4" if cfg.sub("text_config").text("model_type", default="") == "exaone4_5_text" else ""
    text = language_model(cfg, default_type="exaone4", kind=kind, tied=cfg.flag("tie_word_embeddings", default=False))
    return joined(text, part("visual", tower(cfg, kind="exaone4_5_vision").groups, "vision"))


def _hyperclova(cfg: Config) -> ModelSpec:
    """Qwen2.5-VL's encoder and one more projection."""
    kind = cfg.sub("vision_config").text("model_type", default="qwen2_5_vl_vision")
    text = language_model(cfg, default_type="hyperclovax", tied=cfg.flag("tie_word_embeddings", default=True))
    vision = tower(cfg, kind="qwen2_5_vl_vision" if kind == "qwen2_5_vl" else kind)
    projector = linear("projector", text.hidden_size, vision.width, role="projector", bias=True)
    return joined(text, part("vision_model", vision.groups, "vision"), projector)


def _ernie(cfg: Config) -> ModelSpec:
    """A resampler of squares of patches, then of pairs of frames."""
    text = language_model(cfg, kind="ernie4_5_vl_moe_text", tied=cfg.flag("tie_word_embeddings", default=True))
    vision, sizes = tower(cfg, kind="ernie4_5_vl_moe_vision"), cfg.sub("vision_config")
    square = vision.width * sizes.integer("spatial_merge_size", default=2) ** 2
    frames = square * sizes.integer("temporal_merge_size", default=2)
    resampler: Groups = (
        *mlp_projector(square, square, square, name="spatial_linear.fc"),
        *norm("spatial_linear.ln", square, bias=True),
        *mlp_projector(frames, square, square, name="temporal_linear.fc"),
        *norm("temporal_linear.ln", square, bias=True),
        *linear("mlp", text.hidden_size, square, role="projector", bias=True),
        *norm("after_norm", text.hidden_size),
    )
    return joined(text, part("vision_tower", vision.groups, "vision"), part("resampler_model", resampler, "projector"))


def _flat_ernie(cfg: Config) -> ModelSpec:
    return _ernie(_nested_ernie(cfg))


def _nested_ernie(cfg: Config) -> Config:
    """The flat files of ERNIE's own code as Transformers names things: pairs of numbers are for text and for images.

    Source: configuration_ernie4_5_vl.py of baidu/ERNIE-4.5-VL-28B-A3B-PT.
    Raises ConfigError where text and images differ in what Transformers has once for both.
    """
    inner, n_layers, sizes = inner_or_flat(cfg), cfg.n_layers(), cfg.sub("vision_config")
    first, last = _same_for_both(cfg, "moe_layer_start_index"), min(cfg.integers("moe_layer_end_index", default=(n_layers - 1,)) or (-1,))
    if last < n_layers - 1 or cfg.integer("moe_layer_interval", default=1) != 1:
        raise cfg.error("moe_layer_end_index", f"expected mixtures up to the last of {n_layers} layers, in each")
    kinds = ["dense" if i < first else "sparse" for i in range(n_layers)]
    hidden = sizes.integer("hidden_size", "embed_dim", default=1280)
    vision = {"hidden_size": hidden, "intermediate_size": int(hidden * sizes.number("mlp_ratio", default=4))}
    for merged, given in (("spatial_merge_size", "spatial_conv_size"), ("temporal_merge_size", "temporal_conv_size")):
        vision[merged] = cfg.integer(given, default=2)
    text = {**inner.data, "moe_num_experts": _same_for_both(cfg, "moe_num_experts"), "mlp_layer_types": kinds}
    return amended(cfg, text_config=text, vision_config={**sizes.data, **vision})


def _same_for_both(cfg: Config, key: str) -> int:
    """The number at ``key``, given for text and for images apart."""
    found = cfg.integers(key, least=0)
    if len(set(found)) != 1:
        raise cfg.error(key, f"expected the same for text and images, found {list(found)}")
    return found[0]
