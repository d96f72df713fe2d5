"""OPT: learned positions, layer norms before or (350m) after each half, embeddings that may be narrower than the layers.

Source: transformers 5.24 models/opt/modeling_opt.py; Zhang et al. 2022, arXiv:2205.01068 §2.1.
"""

from kvplan.core.forms import ActivationForm
from kvplan.core.model import ModelSpec
from kvplan.specs.config import Config
from kvplan.specs.parts.blocks import Groups, embedding, linear, lm_head, norm
from kvplan.specs.parts.classic import LAYER_NORMED, Shape, assembled, block, equal_heads, positions
from kvplan.specs.parts.forms import plain

MODEL_TYPES = ("opt",)

_OFFSET = 2  # the position table starts with two rows that no token uses


def build(cfg: Config) -> ModelSpec:
    """Without ``do_layer_norm_before`` there is no final norm."""
    hidden = cfg.integer("hidden_size")
    shape = Shape(
        hidden=hidden,
        n_layers=cfg.n_layers(),
        heads=equal_heads(cfg, hidden, "num_attention_heads"),
        intermediate=cfg.integer("ffn_dim"),
        vocab=cfg.integer("vocab_size"),
        max_ctx=cfg.integer("max_position_embeddings", default=2048),
    )
    bias, affine = cfg.flag("enable_bias", default=True), cfg.flag("layer_norm_elementwise_affine", default=True)
    style = LAYER_NORMED._replace(qkv_bias=bias, o_bias=bias, mlp_bias=bias, norm_weight=affine)
    final_norm = affine and cfg.flag("do_layer_norm_before", default=True) and not cfg.flag("_remove_final_layer_norm", default=False)
    weights = (
        *_embeddings(cfg, shape),
        *(norm("norm", hidden, bias=True) if final_norm else ()),
    )
    form = ActivationForm(norm="5H", core="4H + Q", mlp=plain(cfg.text("activation_function", default="relu")), resident="i", checked=True)
    return assembled(shape, (block(shape, style),) * shape.n_layers, weights, form)


def _embeddings(cfg: Config, shape: Shape) -> Groups:
    """Token and position tables, the output projection, and what leads from a narrower embedding to the layers and back."""
    width = cfg.integer("word_embed_proj_dim", default=shape.hidden)
    bridge = (
        *linear("project_in", shape.hidden, width, role="embedding"),
        *linear("project_out", width, shape.hidden, role="other"),
    )
    return (
        *embedding(shape.vocab, width),
        *positions((shape.max_ctx or 0) + _OFFSET, shape.hidden),
        *(bridge if width != shape.hidden else ()),
        *lm_head(shape.vocab, width, tied=cfg.flag("tie_word_embeddings", default=True)),
    )
