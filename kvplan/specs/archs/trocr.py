"""TrOCR's decoder: BART's, which reads an image encoder of its own width.

Source: transformers 5.24 models/trocr/modeling_trocr.py; Li et al. 2021, arXiv:2109.10282 §2.1.
"""

from kvplan.core.forms import ActivationForm
from kvplan.core.model import ModelSpec
from kvplan.specs.config import Config
from kvplan.specs.parts.blocks import norm
from kvplan.specs.parts.classic import LAYER_NORMED, UNFED_CROSS_ATTENTION, classic, positions
from kvplan.specs.parts.seq2seq import cross_block, side

MODEL_TYPES = ("trocr",)

_OFFSET = 2  # the position table starts with two rows that no token uses


def build(cfg: Config) -> ModelSpec:
    """The encoder is another model: its length isn't in this config."""
    shape = side(cfg, "decoder", positions=512)
    style = LAYER_NORMED._replace(tied=cfg.flag("tie_word_embeddings", default=True), final_norm=False)
    layer = cross_block(shape, style, source_tokens=None, source_width=cfg.integer("cross_attention_hidden_size", default=shape.hidden))
    learned = cfg.flag("use_learned_position_embeddings", default=True)
    extra = (
        *(positions((shape.max_ctx or 0) + _OFFSET, shape.hidden) if learned else ()),
        *(norm("layernorm_embedding", shape.hidden, bias=True) if cfg.flag("layernorm_embedding", default=True) else ()),
    )
    form = ActivationForm(norm="5H", learned_positions=learned)
    spec = classic(shape, style, form, layers=(layer,) * shape.n_layers, extra=extra)
    return spec._replace(caveats=(UNFED_CROSS_ATTENTION,))
