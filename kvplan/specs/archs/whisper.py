"""Whisper and Speech2Text: convolutions over spectrogram frames, an encoder, and a decoder that reads its output.

Source: transformers 5.24 models/whisper, models/speech_to_text; Radford et al. 2022, arXiv:2212.04356 §2.2;
Wang et al. 2020, arXiv:2010.05171 §3.
"""

from itertools import pairwise

from kvplan.core.forms import ActivationForm
from kvplan.core.model import Layer, ModelSpec
from kvplan.specs.config import Config
from kvplan.specs.parts.blocks import Groups, copies, embedding, lm_head, norm
from kvplan.specs.parts.classic import LAYER_NORMED, UNFED_CROSS_ATTENTION, Shape, assembled, positions
from kvplan.specs.parts.decoder import block_weights
from kvplan.specs.parts.seq2seq import conv1d, cross_block, decoder_only, encoder, longest_input, side, without_key_bias

MODEL_TYPES = ("whisper", "speech_to_text")

_WHISPER_POSITIONS = (1500, 448)
_SPEECH_POSITIONS = (6000, 1024)


def build(cfg: Config) -> ModelSpec:
    """Whisper pads every input to ``max_source_positions``, so its cross-attention always keeps that many."""
    whisper = cfg.text("model_type") == "whisper"
    n_source, n_target = _WHISPER_POSITIONS if whisper else _SPEECH_POSITIONS
    source = side(cfg, "encoder", positions_key="max_source_positions", positions=n_source)
    target = side(cfg, "decoder", positions_key="max_target_positions", positions=n_target)
    frames = (source.max_ctx or 0) if whisper else _subsampled(cfg, source.max_ctx or 0)
    alone = decoder_only(cfg)
    layer = cross_block(target, LAYER_NORMED, source_tokens=None if alone else frames)
    if whisper:
        layer = Layer(layer.mixers, layer.ffns, without_key_bias(layer.weights))
    tables = (
        *embedding(target.vocab, target.hidden),
        *(positions(target.max_ctx or 0, target.hidden) if whisper else ()),
        *norm("norm", target.hidden, bias=True),
        *lm_head(target.vocab, target.hidden, tied=cfg.flag("tie_word_embeddings", default=True)),
    )
    weights = tables if alone else (*tables, *_encoder(cfg, source, whisper=whisper))
    form = ActivationForm(norm="5H", learned_positions=whisper)
    spec = assembled(target, (layer,) * target.n_layers, weights, form)
    caveats = (UNFED_CROSS_ATTENTION,) if alone else () if whisper else (longest_input(frames),)
    return spec._replace(caveats=caveats)


def _encoder(cfg: Config, shape: Shape, *, whisper: bool) -> Groups:
    layers = block_weights(shape.hidden, shape.heads, shape.intermediate, LAYER_NORMED)
    front = _whisper_front(cfg, shape) if whisper else _subsampler(cfg, shape)
    layers = without_key_bias(layers) if whisper else layers
    return encoder(front, copies(layers, shape.n_layers), norm("norm", shape.hidden, bias=True))


def _whisper_front(cfg: Config, shape: Shape) -> Groups:
    """Two convolutions over mel bins, and a table of positions that training leaves alone but the model holds."""
    return (
        *conv1d("conv1", cfg.integer("num_mel_bins", default=80), shape.hidden, 3),
        *conv1d("conv2", shape.hidden, shape.hidden, 3),
        *positions(shape.max_ctx or 0, shape.hidden),
    )


def _kernels(cfg: Config) -> tuple[int, ...]:
    kernels = cfg.integers("conv_kernel_sizes", default=(5, 5), least=1)
    n_layers = cfg.integer("num_conv_layers", default=2)
    if len(kernels) != n_layers:
        raise cfg.error("conv_kernel_sizes", f"expected one for each of num_conv_layers = {n_layers}, found {len(kernels)}")
    return kernels


def _subsampler(cfg: Config, shape: Shape) -> Groups:
    """Convolutions of stride 2 with gated halves: each passes on half of its channels."""
    kernels, middle = _kernels(cfg), cfg.integer("conv_channels", default=1024)
    n_in = cfg.integer("input_feat_per_channel", default=80) * cfg.integer("input_channels", default=1)
    outs = [*[middle] * (len(kernels) - 1), 2 * shape.hidden]
    widths = [n_in, *(n // 2 for n in outs)]
    return tuple(
        group
        for i, ((n, _), out, kernel) in enumerate(zip(pairwise(widths), outs, kernels, strict=True))
        for group in conv1d(f"conv.conv_layers.{i}", n, out, kernel)
    )


def _subsampled(cfg: Config, frames: int) -> int:
    """Positions that ``frames`` leave after the convolutions, each of stride 2."""
    for _ in _kernels(cfg):
        frames = (frames + 1) // 2
    return frames
