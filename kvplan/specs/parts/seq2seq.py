"""Encoder-decoders: the decoder's layers keep a cache, the encoder is weights alone and runs once a request.

Each decoder layer also attends to the encoder's output, whose keys and values it computes once and keeps.
"""

from collections.abc import Iterable
from itertools import groupby

from kvplan.core.mixers import CrossAttention
from kvplan.core.model import Caveat, DenseFfn, Layer, WeightGroup
from kvplan.specs.config import MAX_LAYERS, Config
from kvplan.specs.parts.attention import full
from kvplan.specs.parts.blocks import Groups, as_role, copies, embedding, lm_head, norm
from kvplan.specs.parts.classic import Shape, cross_attention, equal_heads
from kvplan.specs.parts.decoder import Style, block_weights

_WHOLE = ("ForConditionalGeneration", "MTModel", "WithLMHeadModel", "ForSpeechSeq2Seq")


def decoder_only(cfg: Config) -> bool:
    """Whether the class in ``architectures`` is the decoder alone (``…ForCausalLM``), not the whole model.

    Raises ConfigError for a class that generates nothing: an encoder, a classifier.
    """
    named = cfg.class_name()
    if not named:
        return not cfg.flag("is_encoder_decoder", default=True)
    if named.endswith("ForCausalLM"):
        return True
    bare = named.endswith("Model") and not named.endswith("EncoderModel")
    if not bare and not named.endswith(_WHOLE):
        raise cfg.error("architectures", f"'{named}' generates nothing, so it keeps no cache", hint="expected a …ForConditionalGeneration")
    return False


def expect_whole(cfg: Config) -> None:
    """Raises ConfigError for a class of the decoder alone, in families that have none."""
    if decoder_only(cfg):
        raise cfg.error("architectures", "this family has no class for its decoder alone", hint="expected a …ForConditionalGeneration")


def side(cfg: Config, name: str, *, positions_key: str = "max_position_embeddings", positions: int | None = None) -> Shape:
    """The ``encoder`` or the ``decoder`` in BART's words: encoder_layers, encoder_attention_heads, encoder_ffn_dim.

    ``positions`` is what the configuration class assumes for ``positions_key``.
    """
    hidden = cfg.integer("d_model", "hidden_size")
    return Shape(
        hidden=hidden,
        n_layers=cfg.integer(f"{name}_layers", most=MAX_LAYERS),
        heads=equal_heads(cfg, hidden, f"{name}_attention_heads"),
        intermediate=cfg.integer(f"{name}_ffn_dim"),
        vocab=cfg.integer("vocab_size"),
        max_ctx=cfg.integer(positions_key, default=positions),
    )


def encoder(*parts: Groups) -> Groups:
    """``parts`` as the encoder's weights."""
    return tuple(group._replace(name=f"encoder.{group.name}") for part in parts for group in as_role(part, "encoder"))


def stacked(layers: Iterable[Groups]) -> Groups:
    """Layers in order, equal neighbors as copies of one."""
    return tuple(group for layer, same in groupby(layers) for group in copies(layer, sum(1 for _ in same)))


def cross_block(shape: Shape, style: Style, *, source_tokens: int | None, source_width: int = 0) -> Layer:
    """A decoder layer: attention to itself, to ``source_tokens`` of an encoder's output, and a feed-forward.

    Without ``source_tokens`` no encoder is there to attend to, only the weights for it. ``source_width`` is the
    encoder's, where it is not the decoder's own.
    """
    source = CrossAttention(shape.heads.n_heads, shape.heads.n_kv_heads, shape.heads.head_dim, source_tokens or 0)
    weights = (
        *block_weights(shape.hidden, shape.heads, shape.intermediate, style),
        *cross_attention(shape.hidden, shape.heads, source=source_width or shape.hidden, bias=style.qkv_bias),
        *norm("cross_attn_norm", shape.hidden, bias=style.norm_bias),
    )
    mixers = (full(shape.heads), source) if source_tokens else (full(shape.heads),)
    return Layer(mixers, (DenseFfn(shape.intermediate, style.gated),), weights)


def shared_tables(vocab: int, hidden: int, *, tied: bool) -> Groups:
    """One table for encoder, decoder and output projection, or four: an untied model keeps the shared one besides."""
    if tied:
        return (*embedding(vocab, hidden), *lm_head(vocab, hidden, tied=True))
    return (
        *embedding(vocab, hidden),
        *encoder(embedding(vocab, hidden)),
        *embedding(vocab, hidden, name="decoder.embed_tokens"),
        *lm_head(vocab, hidden, tied=False),
    )


def without_key_bias(groups: Groups) -> Groups:
    """``groups`` where keys have no bias while queries and values have one."""
    return tuple(group for group in groups if not group.name.endswith("k_proj.bias"))


def conv1d(name: str, n_in: int, n_out: int, kernel: int, *, bias: bool = True) -> Groups:
    """A convolution along time of ``n_in`` channels to ``n_out``."""
    weight = WeightGroup(f"{name}.weight", "encoder", n_out, n_in * kernel)
    return (weight, WeightGroup(f"{name}.bias", "encoder", n_out)) if bias else (weight,)


def longest_input(source_tokens: int) -> Caveat:
    """The cache of the encoder's output is counted for the longest input, which a request may not have."""
    return Caveat(
        "KV013",
        "note",
        f"cross-attention is counted for the longest input of the encoder, {source_tokens:,} tokens",
        "a shorter input keeps proportionally less",
    )
