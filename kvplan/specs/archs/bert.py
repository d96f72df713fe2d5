"""BERT and its kin as decoders (``is_decoder``): the language model heads that generate.

Source: transformers 5.24 models/bert, bert_generation, camembert, data2vec, ernie, megatron_bert, roberta,
roberta_prelayernorm, xlm_roberta, xlm_roberta_xl; Rothe et al. 2019, arXiv:1907.12461 §3.
"""

from typing import NamedTuple

from kvplan.core.forms import ActivationForm
from kvplan.core.model import ModelSpec, WeightGroup
from kvplan.specs.config import Config
from kvplan.specs.parts.blocks import Groups, embedding, linear, norm
from kvplan.specs.parts.classic import LAYER_NORMED, UNFED_CROSS_ATTENTION, Shape, block, classic, cross_attention, equal_heads, positions

_GENERATES = ("ForCausalLM", "LMHeadModel", "GenerationDecoder")


class Variant(NamedTuple):
    """How a family differs: norms after the embeddings and after the last layer, kinds of tokens and positions that its
    configuration class assumes (0 kinds: no table), and whether the head transforms its input first.
    """

    norm_embedding: bool = True
    final_norm: bool = False
    n_types: int = 2
    n_positions: int = 512
    transform: bool = True


_VARIANTS = {
    "bert": Variant(),
    "camembert": Variant(),
    "data2vec-text": Variant(),
    "ernie": Variant(),
    "roberta": Variant(),
    "xlm-roberta": Variant(),
    "roberta-prelayernorm": Variant(final_norm=True),
    "megatron-bert": Variant(norm_embedding=False, final_norm=True),
    "xlm-roberta-xl": Variant(norm_embedding=False, final_norm=True, n_types=1, n_positions=514),
    "bert-generation": Variant(n_types=0, transform=False),
}
MODEL_TYPES = tuple(_VARIANTS)


def build(cfg: Config) -> ModelSpec:
    """Refuses the classes that generate nothing: they keep no cache."""
    named = cfg.class_name()
    if not (named.endswith(_GENERATES) if named else cfg.flag("is_decoder", default=False)):
        raise cfg.error(
            "architectures",
            f"'{named or cfg.text('model_type')}' generates nothing, so it keeps no cache",
            hint="an encoder; as a decoder it has is_decoder true and a class that ends in ForCausalLM or LMHeadModel",
        )
    variant = _VARIANTS[cfg.text("model_type")]
    shape = _shape(cfg, variant)
    tied = cfg.flag("tie_word_embeddings", default=True)
    style = LAYER_NORMED._replace(final_norm=variant.final_norm, tied=tied, head_bias=True)
    crossed = cfg.flag("add_cross_attention", default=False)
    bias = cross_attention(shape.hidden, shape.heads, source=shape.hidden, bias=True)
    extra = (*bias, *norm("cross_attn_norm", shape.hidden, bias=True)) if crossed else ()
    form = ActivationForm(norm="5H", learned_positions=True)
    layers = (block(shape, style, extra=extra),) * shape.n_layers
    outside = (*_tables(cfg, shape, variant), *_head(shape, variant, tied=tied))
    spec = classic(shape, style, form, layers=layers, extra=outside)
    return spec._replace(caveats=(UNFED_CROSS_ATTENTION,)) if crossed else spec


def _shape(cfg: Config, variant: Variant) -> Shape:
    hidden = cfg.integer("hidden_size")
    return Shape(
        hidden=hidden,
        n_layers=cfg.n_layers(),
        heads=equal_heads(cfg, hidden, "num_attention_heads"),
        intermediate=cfg.integer("intermediate_size"),
        vocab=cfg.integer("vocab_size"),
        max_ctx=cfg.integer("max_position_embeddings", default=variant.n_positions),
    )


def _tables(cfg: Config, shape: Shape, variant: Variant) -> Groups:
    """What is added to the token embeddings: positions, kinds of tokens, with ``use_task_id`` (ERNIE) kinds of tasks."""
    n_types = cfg.integer("type_vocab_size", default=variant.n_types) if variant.n_types else 0
    n_tasks = cfg.integer("task_type_vocab_size", default=3) if cfg.flag("use_task_id", default=False) else 0
    return (
        *positions(shape.max_ctx or 0, shape.hidden),
        *(embedding(n_types, shape.hidden, name="token_type_embeddings") if n_types else ()),
        *(embedding(n_tasks, shape.hidden, name="task_type_embeddings") if n_tasks else ()),
        *(norm("embed_norm", shape.hidden, bias=True) if variant.norm_embedding else ()),
    )


def _head(shape: Shape, variant: Variant, *, tied: bool) -> Groups:
    """The transformation before the output projection; untied, that projection has a bias besides the head's own."""
    transform = (
        *linear("head.dense", shape.hidden, shape.hidden, role="lm_head", bias=True),
        *norm("head.norm", shape.hidden, bias=True),
    )
    second = (WeightGroup("head.bias", "lm_head", shape.vocab, shard="vocab"),)
    return (*(transform if variant.transform else ()), *(() if tied else second))
