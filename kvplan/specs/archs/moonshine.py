"""Moonshine: convolutions over raw audio, an encoder with a plain feed-forward, a decoder with a gated one.

Source: transformers 5.24 models/moonshine; Jeffries et al. 2024, arXiv:2410.15608 §3.
"""

from kvplan.core.forms import ActivationForm
from kvplan.core.mixers import CrossAttention
from kvplan.core.model import Caveat, DenseFfn, Layer, ModelSpec
from kvplan.specs.config import MAX_LAYERS, Config
from kvplan.specs.parts.attention import Heads, full
from kvplan.specs.parts.blocks import Groups, copies, embedding, lm_head, norm
from kvplan.specs.parts.classic import Shape, assembled, cross_attention
from kvplan.specs.parts.decoder import Style, block_weights, rotary_dim
from kvplan.specs.parts.seq2seq import conv1d, encoder, expect_whole

MODEL_TYPES = ("moonshine",)

_SECONDS, _SAMPLES = 30, 16_000  # the paper's longest training input, and samples a second (§3.2)
_CONVOLUTIONS = ((127, 64), (7, 3), (3, 2))  # kernels and strides


def build(cfg: Config) -> ModelSpec:
    """The encoder has no position limit: its output is counted for the longest audio of training."""
    expect_whole(cfg)
    source, target = _shape(cfg, "encoder"), _shape(cfg, "decoder")
    bias = cfg.flag("attention_bias", default=False)
    plain = Style(qkv_bias=bias, mlp_bias=True, gated=False)
    frames = _frames(_SECONDS * _SAMPLES)
    weights = (
        *embedding(target.vocab, target.hidden),
        *norm("norm", target.hidden),
        *lm_head(target.vocab, target.hidden, tied=cfg.flag("tie_word_embeddings", default=True)),
        *encoder(
            _front(source.hidden),
            copies(block_weights(source.hidden, source.heads, source.intermediate, plain), source.n_layers),
            norm("norm", source.hidden),
        ),
    )
    layer = _decoder_layer(target, plain._replace(gated=True, layer_norms=(*plain.layer_norms, "final_layernorm")), frames)
    form = ActivationForm(norm="5H", rotary_dim=rotary_dim(cfg, target.heads.head_dim, default=0.9))
    spec = assembled(target, (layer,) * target.n_layers, weights, form)
    return spec._replace(caveats=(_audio(frames),))


def _shape(cfg: Config, side: str) -> Shape:
    hidden = cfg.integer("hidden_size")
    n_heads = cfg.integer(f"{side}_num_attention_heads", most=2**16)
    n_kv_heads = cfg.integer(f"{side}_num_key_value_heads", default=n_heads)
    if n_heads % n_kv_heads:
        raise cfg.error(f"{side}_num_key_value_heads", f"expected a divisor of {n_heads} heads, found {n_kv_heads}")
    width = cfg.integer("head_dim", default=max(1, hidden // n_heads))
    return Shape(
        hidden=hidden,
        n_layers=cfg.integer(f"{side}_num_hidden_layers", most=MAX_LAYERS),
        heads=Heads(n_heads, n_kv_heads, width, width),
        intermediate=cfg.integer("intermediate_size"),
        vocab=cfg.integer("vocab_size"),
        max_ctx=cfg.integer("max_position_embeddings", default=512),
    )


def _front(hidden: int) -> Groups:
    """Three convolutions that leave one position per 384 samples, and a group norm."""
    return (
        *conv1d("conv1", 1, hidden, _CONVOLUTIONS[0][0], bias=False),
        *conv1d("conv2", hidden, 2 * hidden, _CONVOLUTIONS[1][0]),
        *conv1d("conv3", 2 * hidden, hidden, _CONVOLUTIONS[2][0]),
        *norm("groupnorm", hidden, bias=True),
    )


def _frames(samples: int) -> int:
    """Encoder positions of ``samples``."""
    for kernel, stride in _CONVOLUTIONS:
        samples = (samples - kernel) // stride + 1
    return samples


def _decoder_layer(shape: Shape, style: Style, frames: int) -> Layer:
    heads = shape.heads
    crossing = cross_attention(shape.hidden, heads, source=shape.hidden, bias=style.qkv_bias)
    unbiased = tuple(group for group in crossing if group.name != "cross_attn.o_proj.bias")
    weights = (*block_weights(shape.hidden, heads, shape.intermediate, style), *unbiased)
    reads = CrossAttention(heads.n_heads, heads.n_kv_heads, heads.head_dim, frames)
    # gate and up are one projection with one bias; as two they are as large
    return Layer((full(heads), reads), (DenseFfn(shape.intermediate),), weights)


def _audio(frames: int) -> Caveat:
    return Caveat(
        "KV006",
        "warning",
        f"the config names no longest audio: cross-attention is counted for {_SECONDS} s, {frames:,} positions of the encoder",
        "other audio keeps proportionally less or more",
    )
