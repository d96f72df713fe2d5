"""Llama 3.2 Vision: LLaMA's blocks, of which some attend to the image instead of the text.

Source: transformers 5.24 models/mllama/modeling_mllama.py; Llama 3 report, arXiv:2407.21783 §7.3.
"""

from kvplan.core.forms import ActivationForm
from kvplan.core.mixers import CrossAttention
from kvplan.core.model import DenseFfn, Layer, ModelSpec
from kvplan.specs.config import Config
from kvplan.specs.parts.attention import Heads, attention, full, read_heads
from kvplan.specs.parts.blocks import Groups, embedding, gated_mlp, linear, lm_head, norm, runs
from kvplan.specs.parts.decoder import max_ctx, rotary_dim
from kvplan.specs.parts.multimodal import joined, tower
from kvplan.specs.parts.nested import filled, text_config
from kvplan.specs.parts.tower import parameter, part

MODEL_TYPES = ("mllama", "mllama_text_model")
_CROSS = (3, 8, 13, 18, 23, 28, 33, 38)
_EXTRA_ROWS = 8  # embeddings beyond the vocabulary: the image token and padding


def build(cfg: Config) -> ModelSpec:
    """The whole model, or the language model alone where the config or its architecture is of that; never tied."""
    if cfg.text("model_type") == "mllama_text_model":
        return _language_model(cfg, source_tokens(Config({}, where=cfg.where)))
    text = filled(text_config(cfg), "mllama_text_model")
    spec = _language_model(text, source_tokens(cfg.sub("vision_config")))
    if cfg.texts("architectures", default=()) == ("MllamaForCausalLM",):
        return spec
    vision = tower(cfg, kind="mllama_vision_model")
    projector = linear("multi_modal_projector", spec.hidden_size, vision.width, role="projector", bias=True)
    return joined(spec, part("vision_model", vision.groups, "vision"), projector)


def source_tokens(vision: Config) -> int:
    """Positions of one image: max_num_tiles · (patches of a tile + its class token)."""
    side = vision.integer("image_size", default=448) // vision.integer("patch_size", default=14)
    return vision.integer("max_num_tiles", default=4) * (side**2 + 1)


def _language_model(cfg: Config, n_source: int) -> ModelSpec:
    hidden, vocab, n_layers = cfg.integer("hidden_size"), cfg.integer("vocab_size"), cfg.n_layers()
    heads = read_heads(cfg, hidden)
    cross = set(cfg.integers("cross_attention_layers", default=_CROSS))
    plain, crossing = _layers(cfg, heads, n_source)
    return ModelSpec(
        architecture="",
        model_type="",
        hidden_size=hidden,
        vocab_size=vocab,
        runs=runs(crossing if i in cross else plain for i in range(n_layers)),
        weights=(*embedding(vocab + _EXTRA_ROWS, hidden), *norm("norm", hidden), *lm_head(vocab, hidden, tied=False)),
        stored_dtype="",
        max_ctx_tokens=max_ctx(cfg),
        form=ActivationForm(rotary_dim=rotary_dim(cfg, heads.head_dim)),
    )


def _layers(cfg: Config, heads: Heads, n_source: int) -> tuple[Layer, Layer]:
    """A layer of self-attention, and one of gated cross-attention with norms on q and k."""
    hidden, intermediate = cfg.integer("hidden_size"), cfg.integer("intermediate_size")
    shared: Groups = (
        *norm("input_layernorm", hidden),
        *norm("post_attention_layernorm", hidden),
        *gated_mlp(hidden, intermediate),
    )
    gates = tuple(parameter(name, 1)._replace(role="attention") for name in ("cross_attn_attn_gate", "cross_attn_mlp_gate"))
    crossing = (*shared, *attention(hidden, heads, qk_norm="head"), *gates)
    mixer = CrossAttention(heads.n_heads, heads.n_kv_heads, heads.head_dim, n_source)
    ffns = (DenseFfn(intermediate),)
    return Layer((full(heads),), ffns, (*shared, *attention(hidden, heads))), Layer((mixer,), ffns, crossing)
