"""Marian (OPUS-MT) and FSMT: translation models that may have one vocabulary for each language.

Source: transformers 5.24 models/marian, models/fsmt; Junczys-Dowmunt et al. 2018, arXiv:1804.00344.
"""

from kvplan.core.forms import ActivationForm
from kvplan.core.model import ModelSpec
from kvplan.specs.config import Config
from kvplan.specs.parts.blocks import Groups, copies, embedding, lm_head
from kvplan.specs.parts.classic import LAYER_NORMED, UNFED_CROSS_ATTENTION, Shape, assembled, positions
from kvplan.specs.parts.decoder import block_weights
from kvplan.specs.parts.seq2seq import cross_block, decoder_only, encoder, longest_input, shared_tables, side

MODEL_TYPES = ("marian", "fsmt")

_N_POSITIONS = 1024  # of both configuration classes
_FSMT_PAD = 1  # of its configuration class: the position table has as many rows more, and one


def build(cfg: Config) -> ModelSpec:
    """Positions are computed, but kept in the model as a table of their own."""
    fsmt = cfg.text("model_type") == "fsmt"
    rows = cfg.integer("pad_token_id", default=_FSMT_PAD, least=0) + 1 if fsmt else 0
    named = cfg.with_defaults({"vocab_size": cfg.integer("tgt_vocab_size")}) if fsmt else cfg
    source, target = (side(named, name, positions=_N_POSITIONS) for name in ("encoder", "decoder"))
    alone = decoder_only(cfg)
    layer = cross_block(target, LAYER_NORMED, source_tokens=None if alone else source.max_ctx)
    tables = _fsmt_tables(cfg, target) if fsmt else _marian_tables(cfg, target, alone=alone)
    vocab = next(group.rows for group in tables if group.role == "lm_head")
    weights = (*tables, *positions((target.max_ctx or 0) + rows, target.hidden))
    form = ActivationForm(norm="5H", learned_positions=True)
    target = target._replace(vocab=vocab)
    if alone:
        spec = assembled(target, (layer,) * target.n_layers, weights, form)
        return spec._replace(caveats=(UNFED_CROSS_ATTENTION,))
    layers = copies(block_weights(source.hidden, source.heads, source.intermediate, LAYER_NORMED), source.n_layers)
    weights = (*weights, *encoder(layers, positions((source.max_ctx or 0) + rows, source.hidden)))
    spec = assembled(target, (layer,) * target.n_layers, weights, form)
    return spec._replace(caveats=(longest_input(source.max_ctx or 0),))


def _marian_tables(cfg: Config, shape: Shape, *, alone: bool) -> Groups:
    """One vocabulary, or with ``share_encoder_decoder_embeddings`` off the decoder's own beside the encoder's."""
    tied = cfg.flag("tie_word_embeddings", default=True)
    if not alone and cfg.flag("share_encoder_decoder_embeddings", default=True):
        return shared_tables(shape.vocab, shape.hidden, tied=tied)
    vocab = cfg.integer("decoder_vocab_size", default=shape.vocab)
    return (
        *embedding(vocab, shape.hidden),
        *lm_head(vocab, shape.hidden, tied=tied),
        *(() if alone else encoder(embedding(shape.vocab, shape.hidden))),
    )


def _fsmt_tables(cfg: Config, shape: Shape) -> Groups:
    """Tying makes one table of all three, so that both languages have one vocabulary then."""
    tied, n_source = cfg.flag("tie_word_embeddings", default=False), cfg.integer("src_vocab_size")
    if tied and n_source != shape.vocab:
        raise cfg.error("src_vocab_size", f"expected tgt_vocab_size = {shape.vocab} as embeddings are tied, found {n_source}")
    return (
        *embedding(shape.vocab, shape.hidden),
        *lm_head(shape.vocab, shape.hidden, tied=tied),
        *(() if tied else encoder(embedding(n_source, shape.hidden))),
    )
