"""GPT-NeoX (Pythia, RedPajama-INCITE, Dolly) and its Japanese variant: layer norms, one fused projection, partial rotation.

Source: transformers 5.24 models/gpt_neox, models/gpt_neox_japanese; Black et al. 2022, arXiv:2204.06745 §2.1.
"""

from kvplan.core.forms import ActivationForm
from kvplan.core.model import ModelSpec
from kvplan.specs.config import Config
from kvplan.specs.parts.blocks import vector
from kvplan.specs.parts.classic import LAYER_NORMED, Shape, block, classic, equal_heads
from kvplan.specs.parts.decoder import rotary_dim
from kvplan.specs.parts.forms import FUSED_CORE, plain

MODEL_TYPES = ("gpt_neox", "gpt_neox_japanese")


def build(cfg: Config) -> ModelSpec:
    """Both norms stay also where attention and feed-forward run side by side."""
    japanese = cfg.text("model_type") == "gpt_neox_japanese"
    shape = _shape(cfg, japanese=japanese)
    form = ActivationForm(
        norm="5H",
        core="4H + 2Q + K + V" if japanese else FUSED_CORE,
        scores="4NL" if japanese else "NL + 2fNL",
        kept_scores="2NL" if japanese else "NL",
        mlp=plain(cfg.text("hidden_act", default="gelu"), hidden="5H" if japanese else "4H"),
        eager_only=japanese,
        checked=True,
        rotary_dim=rotary_dim(cfg, shape.heads.head_dim, default=1.0 if japanese else 0.25),
    )
    style = LAYER_NORMED._replace(tied=cfg.flag("tie_word_embeddings", default=japanese))
    if not japanese:
        bias = cfg.flag("attention_bias", default=True)
        return classic(shape, style._replace(qkv_bias=bias, o_bias=bias), form)
    style = style._replace(qkv_bias=False, o_bias=False, mlp_bias=False)
    last = block(shape, style, extra=vector("self_attn.dense_bias", shape.hidden, role="attention"))
    layers = [*[block(shape, style)] * (shape.n_layers - 1), last]
    return classic(shape, style, form, layers=layers)


def _shape(cfg: Config, *, japanese: bool) -> Shape:
    hidden = cfg.integer("hidden_size")
    multiple = cfg.integer("intermediate_multiple_size", default=4) if japanese else 0
    return Shape(
        hidden=hidden,
        n_layers=cfg.n_layers(),
        heads=equal_heads(cfg, hidden, "num_attention_heads"),
        intermediate=multiple * hidden if japanese else cfg.integer("intermediate_size"),
        vocab=cfg.integer("vocab_size"),
        max_ctx=cfg.integer("max_position_embeddings", default=2048),
    )
