"""Inkling's encoders: a vision transformer in the second generation; before it a pyramid of projections, and a table of audio codes.

Source: transformers 5.24 models/{inkling,inkling2}.
"""

from itertools import pairwise
from math import ceil, log

from kvplan.specs.config import MAX_LAYERS, Config
from kvplan.specs.parts.blocks import Groups, linear, norm
from kvplan.specs.parts.tower import Block, Tower, blocks, conv, parameter, scaled

MODEL_TYPES = ("inkling2_vision", "inkling_vision", "inkling_audio")
MAX_SIDE = 4096
Scale = tuple[int, int, int]  # frames, side, channels


def build(cfg: Config) -> Tower:
    """The encoder of the kind."""
    kind = cfg.text("model_type")
    if kind == "inkling2_vision":
        return _transformer(cfg)
    return _pyramid(cfg) if kind == "inkling_vision" else _codes(cfg)


def _transformer(cfg: Config) -> Tower:
    """``text_hidden_size`` is the width that the merger hands on."""
    hidden, side = cfg.integer("hidden_size", default=1024), cfg.integer("patch_size", "native_patch_size", default=20)
    inner = cfg.integer("intermediate_size", default=scaled(cfg, "mlp_ratio", hidden, default=4.0))
    out, wide = cfg.integer("text_hidden_size", default=4608), cfg.integer("projection_hidden_dim", default=4096)
    merged = hidden * cfg.integer("spatial_merge_size", "adapter_merge_size", default=2) ** 2
    bias = cfg.flag("projector_bias", default=False)
    groups = (
        *conv("embeddings.patch_embedding", hidden, cfg.integer("num_channels", default=3), side, side, bias=False),
        parameter("embeddings.position_embedding.weight", cfg.integer("posemb_grid_size", default=32) ** 2, hidden),
        parameter("embeddings.class_embedding", hidden),
        parameter("embeddings.cls_position_embedding", hidden),
        *norm("pre_layernorm", hidden, bias=True),
        *blocks(cfg.integer("num_hidden_layers", default=23), Block(hidden, inner, layer_scales=2)),
        *linear("merger.linear_1", wide, merged, role="vision", bias=bias),
        *linear("merger.linear_2", out, wide, role="vision", bias=bias),
    )
    return Tower(groups, out)


def _pyramid(cfg: Config) -> Tower:
    """A projection from each scale to the next, with a norm; the last one to the language model."""
    out = cfg.integer("text_hidden_size", default=6144)
    scales = _scales(cfg)
    groups: Groups = ()
    for i, ((t0, s0, c0), (t1, s1, c1)) in enumerate(pairwise(scales)):
        last = i == len(scales) - 2
        width = out if last else c1
        projection = linear(f"encoder_layers.{i}.projection", width, c0 * (t1 // t0) * (s1 // s0) ** 2, role="vision")
        groups = (*groups, *projection, *(() if last else norm(f"encoder_layers.{i}.layer_norm", width)))
    return Tower((*groups, *norm("final_norm", out)), out)


def _scales(cfg: Config) -> list[Scale]:
    """The scale at each border of layers: the one nearest to an even growth of elements, first and last fixed.

    Raises ConfigError for fewer layers than scales, which the class assigns by another rule.
    """
    frames, side = (cfg.integer(key, default=size, most=MAX_SIDE) for key, size in (("temporal_patch_size", 2), ("patch_size", 40)))
    n_layers = cfg.integer("n_layers", "num_hidden_layers", default=24, most=MAX_LAYERS)
    channels = cfg.integer("num_channels", default=3)
    sides, times = _products(side), _products(frames)
    scales: list[Scale] = [(1, 1, channels), *((1, s, ceil(s * s * channels / 64) * 64) for s in sides)]
    scales += [(t, side, side * side * channels * t * 64) for t in times]
    if n_layers < len(scales):
        raise cfg.error("num_hidden_layers", f"expected at least {len(scales)} layers, found {n_layers}")
    total = log(side * side * frames * channels)
    sizes = [log(t * s * s) for t, s, _ in scales]
    nearest = [min(range(len(scales)), key=lambda j: abs(total * i / n_layers - sizes[j])) for i in range(n_layers + 1)]
    return [scales[j] for j in (0, *nearest[1:-1], len(scales) - 1)]


def _products(number: int) -> list[int]:
    """The running products of the prime factors of ``number``, largest first."""
    factors, rest, prime = [], number, 2
    while rest > 1:
        while rest % prime == 0:
            factors.append(prime)
            rest //= prime
        prime += 1
    found, product = [], 1
    for factor in reversed(factors):
        product *= factor
        found.append(product)
    return found


def _codes(cfg: Config) -> Tower:
    """An embedding for each value of each mel bin."""
    out = cfg.integer("text_hidden_size", "hidden_size", default=6144)
    rows = cfg.integer("n_mel_bins", "num_codebooks", default=80) * cfg.integer("mel_vocab_size", "codebook_size", default=256)
    return Tower((parameter("embed_audio_tokens.weight", rows, out), *norm("norm", out)), out)
