"""BART and its kin: mBART, PLBART, MVP, Pegasus, BigBird-Pegasus, Pegasus-X, LED, Blenderbot, M2M-100 and NLLB.

Source: transformers 5.24 models/bart, mbart, plbart, mvp, pegasus, bigbird_pegasus, pegasus_x, led, blenderbot,
blenderbot_small, m2m_100; Lewis et al. 2019, arXiv:1910.13461 §2.1.
"""

from typing import NamedTuple

from kvplan.core.forms import ActivationForm
from kvplan.core.model import ModelSpec
from kvplan.specs.config import Config
from kvplan.specs.parts.blocks import Groups, copies, embedding, linear, lm_head, norm
from kvplan.specs.parts.classic import LAYER_NORMED, UNFED_CROSS_ATTENTION, Shape, assembled, positions
from kvplan.specs.parts.decoder import Style, block_weights
from kvplan.specs.parts.seq2seq import cross_block, decoder_only, encoder, longest_input, shared_tables, side


class Variant(NamedTuple):
    """How a family differs: rows of its position tables before the first position (None: positions are computed),
    a norm after the embeddings, one after the last layer, the positions and the biases its configuration class assumes.
    """

    rows: int | None = 2
    norm_embedding: bool = True
    final_norm: bool = False
    n_positions: int = 1024
    attention_bias: bool = True


_VARIANTS = {
    "bart": Variant(),
    "plbart": Variant(),
    "mvp": Variant(),
    "mbart": Variant(final_norm=True),
    "blenderbot": Variant(rows=0, norm_embedding=False, final_norm=True, n_positions=128),
    "blenderbot-small": Variant(rows=0, n_positions=512),
    "pegasus": Variant(rows=0, norm_embedding=False, final_norm=True),
    "m2m_100": Variant(rows=None, norm_embedding=False, final_norm=True),
    "bigbird_pegasus": Variant(rows=0, n_positions=4096, attention_bias=False),
    "pegasus_x": Variant(rows=None, norm_embedding=False, final_norm=True, n_positions=16384, attention_bias=False),
    "led": Variant(rows=0),
}
MODEL_TYPES = tuple(_VARIANTS)


def build(cfg: Config) -> ModelSpec:
    """The decoder as layers, the encoder as weights; ``…ForCausalLM`` is the decoder alone."""
    model_type = cfg.text("model_type")
    variant = _VARIANTS[model_type]
    source, target = _sides(cfg, model_type, variant)
    bias = cfg.flag("use_bias", default=False) if model_type == "bigbird_pegasus" else variant.attention_bias
    style = LAYER_NORMED._replace(qkv_bias=bias, o_bias=bias)
    tied = cfg.flag("tie_word_embeddings", default=True)
    alone = decoder_only(cfg)
    layer = cross_block(target, style, source_tokens=None if alone else source.max_ctx)
    form = ActivationForm(norm="5H", learned_positions=variant.rows is not None)
    if alone:
        tied = tied and model_type != "bigbird_pegasus"  # whose class for the decoder alone ties nothing
        tables = (*embedding(target.vocab, target.hidden), *lm_head(target.vocab, target.hidden, tied=tied))
        spec = assembled(target, (layer,) * target.n_layers, (*tables, *_around(target, variant)), form)
        return spec._replace(caveats=(UNFED_CROSS_ATTENTION,))
    weights = (
        *shared_tables(target.vocab, target.hidden, tied=tied),
        *encoder(_encoder_layers(source, style, model_type), _around(source, variant), _global_tokens(cfg, source, model_type)),
        *_around(target, variant),
        *_prompts(cfg, target, model_type),
    )
    spec = assembled(target, (layer,) * target.n_layers, weights, form)
    return spec._replace(caveats=(longest_input(source.max_ctx or 0),))


def _sides(cfg: Config, model_type: str, variant: Variant) -> tuple[Shape, Shape]:
    """Encoder and decoder; LED's have position tables of their own lengths."""
    if model_type != "led":
        n = variant.n_positions
        return side(cfg, "encoder", positions=n), side(cfg, "decoder", positions=n)
    return (
        side(cfg, "encoder", positions_key="max_encoder_position_embeddings", positions=16384),
        side(cfg, "decoder", positions_key="max_decoder_position_embeddings", positions=variant.n_positions),
    )


def _around(shape: Shape, variant: Variant) -> Groups:
    """What stands before and after the layers of either side."""
    return (
        *(() if variant.rows is None else positions((shape.max_ctx or 0) + variant.rows, shape.hidden)),
        *(norm("layernorm_embedding", shape.hidden, bias=True) if variant.norm_embedding else ()),
        *(norm("norm", shape.hidden, bias=True) if variant.final_norm else ()),
    )


def _encoder_layers(shape: Shape, style: Style, model_type: str) -> Groups:
    """LED has a second set of projections for global tokens, Pegasus-X a second norm."""
    extra: Groups = ()
    if model_type == "led":
        names = ("query_global", "key_global", "value_global")
        extra = tuple(g for n in names for g in linear(n, shape.hidden, shape.hidden, role="attention", bias=True))
    elif model_type == "pegasus_x":
        extra = norm("global_self_attn_layer_norm", shape.hidden, bias=True)
    return copies((*block_weights(shape.hidden, shape.heads, shape.intermediate, style), *extra), shape.n_layers)


def _global_tokens(cfg: Config, shape: Shape, model_type: str) -> Groups:
    """Tokens of Pegasus-X that see the whole input."""
    if model_type != "pegasus_x":
        return ()
    return embedding(cfg.integer("num_global_tokens", default=32), shape.hidden, name="embed_global")


def _prompts(cfg: Config, shape: Shape, model_type: str) -> Groups:
    """MVP's learned prompts, and the two layers that make keys and values of them for each layer.

    Only the decoder has them: the model class hands the encoder's to another argument and builds none.
    """
    if model_type != "mvp" or not cfg.flag("use_prompt", default=False):
        return ()
    length, middle = cfg.integer("prompt_length", default=100), cfg.integer("prompt_mid_dim", default=800)
    return tuple(
        group
        for name in ("self_attn_prompt", "cross_attn_prompt")
        for group in (
            *embedding(length, shape.hidden, name=f"{name}.prompt_embedding"),
            *linear(f"{name}.prompt_trans.0", middle, shape.hidden, role="other", bias=True),
            *linear(f"{name}.prompt_trans.2", 2 * shape.n_layers * shape.hidden, middle, role="other", bias=True),
        )
    )
