"""T5Gemma: an encoder and a decoder of Gemma 2's blocks, each with a config of its own.

Source: transformers 5.24 models/t5gemma; Zhang et al. 2025, arXiv:2504.06225 §3.
"""

from kvplan.core.forms import ActivationForm
from kvplan.core.mixers import CrossAttention
from kvplan.core.model import DenseFfn, Layer, ModelSpec
from kvplan.specs.config import Config
from kvplan.specs.parts.attention import layer_kinds, mixer
from kvplan.specs.parts.blocks import copies, embedding, lm_head, norm, periodic
from kvplan.specs.parts.classic import Shape, assembled, cross_attention
from kvplan.specs.parts.decoder import Style, rotary_dim
from kvplan.specs.parts.seq2seq import encoder, expect_whole, longest_input
from kvplan.specs.parts.t5gemma import block, read_shape, side

MODEL_TYPES = ("t5gemma",)

_CLASS: dict[str, object] = {
    "vocab_size": 256000,
    "hidden_size": 2304,
    "intermediate_size": 9216,
    "num_hidden_layers": 26,
    "num_attention_heads": 8,
    "num_key_value_heads": 4,
    "head_dim": 256,
    "max_position_embeddings": 8192,
    "sliding_window": 4096,
    "attn_logit_softcapping": 50.0,
}
"""Defaults of T5GemmaModuleConfig, which nested configs omit."""


def build(cfg: Config) -> ModelSpec:
    """Keys and values of cross-attention are as wide as the encoder, the rest as the decoder."""
    expect_whole(cfg)
    source_cfg, target_cfg = side(cfg, "encoder").with_defaults(_CLASS), side(cfg, "decoder").with_defaults(_CLASS)
    source, target = read_shape(source_cfg), read_shape(target_cfg)
    layers = _decoder_layers(target_cfg, target, source)
    tied = cfg.flag("tie_word_embeddings", default=True)
    weights = (
        *embedding(target.vocab, target.hidden),
        *norm("norm", target.hidden),
        *lm_head(target.vocab, target.hidden, tied=tied),
        *encoder(
            embedding(source.vocab, source.hidden), copies(block(source_cfg, source, Style()), source.n_layers), norm("norm", source.hidden)
        ),
    )
    form = ActivationForm(rotary_dim=rotary_dim(target_cfg, target.heads.head_dim), eager_only=target_cfg.has("attn_logit_softcapping"))
    spec = assembled(target, layers, weights, form)
    return spec._replace(caveats=(longest_input(source.max_ctx or 0),))


def _decoder_layers(cfg: Config, shape: Shape, source: Shape) -> list[Layer]:
    """A window on every other layer, the first included; attention to the encoder in each."""
    heads = shape.heads
    weights = (
        *block(cfg, shape, Style()),
        *cross_attention(shape.hidden, heads, source=source.hidden, bias=cfg.flag("attention_bias", default=False)),
        *norm("pre_cross_attn_layernorm", shape.hidden),
        *norm("post_cross_attn_layernorm", shape.hidden),
    )
    reads = CrossAttention(heads.n_heads, heads.n_kv_heads, heads.head_dim, source.max_ctx or 0)
    kinds = layer_kinds(cfg, shape.n_layers, periodic(shape.n_layers, ("sliding_attention", "full_attention")))
    window = cfg.optional_integer("sliding_window")
    ffns = (DenseFfn(shape.intermediate),)
    return [Layer((mixer(kind, heads, cfg, window=window), reads), ffns, weights) for kind in kinds]
