"""Idefics2, Idefics3 and SmolVLM: SigLIP at native resolution, and a perceiver or a pixel shuffle before the language model.

Source: transformers 5.24 models/{idefics2,idefics3,smolvlm}; Laurençon et al. 2024, arXiv:2405.02246 §2, arXiv:2408.12637 §3.1.
"""

from kvplan.core.model import ModelSpec
from kvplan.specs.config import Config
from kvplan.specs.parts.attention import Heads, attention
from kvplan.specs.parts.blocks import Groups, copies, gated_mlp, linear, norm
from kvplan.specs.parts.multimodal import joined, tower
from kvplan.specs.parts.nested import language_model
from kvplan.specs.parts.tower import parameter, part

_TEXTS = {"idefics2": "mistral", "idefics3": "llama", "smolvlm": "llama"}
MODEL_TYPES = ("idefics2", "idefics3", "smolvlm")


def build(cfg: Config) -> ModelSpec:
    """Idefics3 and SmolVLM project ``scale_factor``² patches at once with one matrix."""
    kind = cfg.text("model_type")
    text = language_model(cfg, default_type=_TEXTS[kind], tied=cfg.flag("tie_word_embeddings", default=False))
    vision = tower(cfg, kind=f"{kind}_vision")
    if kind == "idefics2":
        connector = _connector(cfg, vision.width, text)
    else:
        width = vision.width * cfg.integer("scale_factor", default=2) ** 2
        connector = linear("modality_projection.proj", text.hidden_size, width, role="projector")
    return joined(text, part("vision_model", vision.groups, "vision"), part("connector", connector, "projector"))


def _connector(cfg: Config, width: int, text: ModelSpec) -> Groups:
    """A gated projection as wide as the language model's feed-forward, then a perceiver resampler."""
    hidden, intermediate = text.hidden_size, text.runs[0].layer.ffns[0].intermediate
    return (
        *linear("modality_projection.gate_proj", intermediate, width, role="projector"),
        *linear("modality_projection.up_proj", intermediate, width, role="projector"),
        *linear("modality_projection.down_proj", hidden, intermediate, role="projector"),
        *part("perceiver_resampler", _resampler(cfg.sub("perceiver_config"), hidden), "projector"),
    )


def _resampler(cfg: Config, hidden: int) -> Groups:
    """Learned latents that attend to the image: its width is always the language model's."""
    n_heads, head_dim = cfg.integer("resampler_n_heads", default=16), cfg.integer("resampler_head_dim", default=96)
    heads = Heads(n_heads, cfg.integer("num_key_value_heads", default=4), head_dim, head_dim)
    names = ("input_latents_norm", "input_context_norm", "post_attention_layernorm")
    layer: Groups = (
        *(group for name in names for group in norm(f"layers.{name}", hidden)),
        *attention(hidden, heads),
        *gated_mlp(hidden, 4 * hidden, name="layers.mlp"),
    )
    return (
        parameter("latents", cfg.integer("resampler_n_latents", default=64), hidden),
        *copies(layer, cfg.integer("resampler_depth", default=3)),
        *norm("norm", hidden),
    )
