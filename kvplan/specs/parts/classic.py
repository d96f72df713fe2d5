"""Decoders whose config speaks its own names (n_embd, d_model, ffn_dim): the family reads them, this assembles.

They are what came before LLaMA: layer norms with shifts, biases, ungated feed-forwards, learned positions, tied embeddings.
"""

from collections.abc import Sequence
from typing import NamedTuple

from kvplan.core.forms import ActivationForm
from kvplan.core.mixers import Mixer
from kvplan.core.model import Caveat, DenseFfn, Layer, ModelSpec, WeightGroup
from kvplan.specs.config import Config
from kvplan.specs.parts.attention import Heads, full
from kvplan.specs.parts.blocks import Groups, embedding, linear, lm_head, norm, runs
from kvplan.specs.parts.decoder import Style, block_weights

LAYER_NORMED = Style(norm_bias=True, qkv_bias=True, o_bias=True, mlp_bias=True, gated=False, tied=True)
"""Biases and shifts everywhere, an ungated feed-forward, tied embeddings: GPT-2's blocks."""

UNFED_CROSS_ATTENTION = Caveat(
    "KV010",
    "note",
    "the decoder can attend to an encoder's output: the weights for that are counted, the cache is not",
    "with an encoder, each of its positions adds its keys and values in every layer",
)


class Shape(NamedTuple):
    """The numbers of a decoder, under whatever names its config gives them.

    ``max_ctx`` is the position limit, None where the architecture has none.
    """

    hidden: int
    n_layers: int
    heads: Heads
    intermediate: int
    vocab: int
    max_ctx: int | None


def equal_heads(cfg: Config, hidden: int, *keys: str, n_kv_heads: int | None = None) -> Heads:
    """Heads at the first of ``keys`` that is there; they divide ``hidden`` among themselves.

    ``n_kv_heads`` says where keys and values have fewer. Raises ConfigError when the numbers don't divide.
    """
    n_heads = cfg.integer(*keys, most=2**16)
    if hidden % n_heads:
        raise cfg.error(keys[0], f"expected a divisor of the hidden size {hidden}, found {n_heads}")
    if n_kv_heads is not None and n_heads % n_kv_heads:
        raise cfg.error(keys[0], f"expected a multiple of the {n_kv_heads} key and value heads, found {n_heads}")
    return Heads(n_heads, n_kv_heads or n_heads, hidden // n_heads, hidden // n_heads)


def positions(n_positions: int, hidden: int) -> Groups:
    """A table of position embeddings."""
    return (WeightGroup("embed_positions.weight", "embedding", n_positions, hidden),)


def cross_attention(hidden: int, heads: Heads, *, source: int, bias: bool, name: str = "cross_attn") -> Groups:
    """Projections of queries from ``hidden`` and of keys and values from an encoder that is ``source`` wide."""
    q, kv = heads.n_heads * heads.head_dim, heads.n_kv_heads * heads.head_dim
    return (
        *linear(f"{name}.q_proj", q, hidden, role="attention", shard="column", bias=bias),
        *linear(f"{name}.k_proj", kv, source, role="attention", shard="kv", bias=bias),
        *linear(f"{name}.v_proj", kv, source, role="attention", shard="kv", bias=bias),
        *linear(f"{name}.o_proj", hidden, q, role="attention", shard="row", bias=bias),
    )


def block(shape: Shape, style: Style, *, mixer: Mixer | None = None, extra: Groups = ()) -> Layer:
    """One layer with ``style``: full attention or ``mixer``, and what it has beside the usual weights."""
    weights = (*block_weights(shape.hidden, shape.heads, shape.intermediate, style), *extra)
    return Layer((mixer or full(shape.heads),), (DenseFfn(shape.intermediate, style.gated),), weights)


def classic(shape: Shape, style: Style, form: ActivationForm, *, layers: Sequence[Layer] = (), extra: Groups = ()) -> ModelSpec:
    """The ModelSpec of ``layers``, or of equal ones with ``style``.

    ``extra`` are groups beside the embeddings, the final norm and the output projection: position tables, embedding norms.
    """
    weights = (
        *embedding(shape.vocab, shape.hidden),
        *extra,
        *(norm("norm", shape.hidden, bias=style.norm_bias) if style.final_norm and style.norm_weight else ()),
        *lm_head(shape.vocab, shape.hidden, tied=style.tied, bias=style.head_bias),
    )
    return assembled(shape, layers or (block(shape, style),) * shape.n_layers, weights, form)


def assembled(shape: Shape, layers: Sequence[Layer], weights: Groups, form: ActivationForm) -> ModelSpec:
    """The ModelSpec of ``layers`` and of ``weights`` outside them."""
    return ModelSpec(
        architecture="",
        model_type="",
        hidden_size=shape.hidden,
        vocab_size=shape.vocab,
        runs=runs(layers),
        weights=weights,
        stored_dtype="",
        max_ctx_tokens=shape.max_ctx,
        form=form,
    )
