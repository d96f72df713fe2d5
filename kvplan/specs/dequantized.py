"""Quantized weights taken back: the shapes alone, in a plain type."""

from collections.abc import Callable

from kvplan.core.dtypes import PLAIN
from kvplan.core.model import Layer, LayerRun, ModelSpec, WeightGroup
from kvplan.specs.parts.blocks import Groups, runs

_INEXACT = ("KV001", "KV005", "KV009")
_OF_CACHES = ("k_scale", "v_scale")
"""Scales of an FP8 cache, which lie in checkpoints of quantized weights."""


def dequantized(spec: ModelSpec, base: str) -> ModelSpec:
    """``spec`` with its packed weights in ``base``, without what stood beside them: scales, zero points, code books.

    Of a GGUF file everything is: that its vectors are float32 belongs to the format.
    """
    rewritten = _always if spec.source == "gguf" else _is_packed
    return spec._replace(
        runs=runs(_unpacked(layer, rewritten) for layer in spec.layers()),
        mtp=tuple(LayerRun(run.n_layers, _unpacked(run.layer, rewritten)) for run in spec.mtp),
        weights=_without_scales(spec.weights, rewritten),
        stored_dtype=base,
        quantization=None,
        exact=not is_inexact_anyway(spec),
        checkpoint=None,
    )


def is_inexact_anyway(spec: ModelSpec) -> bool:
    """Whether the parameters themselves are counted by likeness or with a part missing."""
    return any(caveat.rule in _INEXACT for caveat in spec.caveats)


def _unpacked(layer: Layer, rewritten: Callable[[WeightGroup], bool]) -> Layer:
    return layer._replace(weights=_without_scales(layer.weights, rewritten))


def _without_scales(groups: Groups, rewritten: Callable[[WeightGroup], bool]) -> Groups:
    """Scales are named after the weight that they stand beside; masks and tables of the model itself stay."""
    stems = {group.name.removesuffix(".weight") for group in groups if _is_packed(group)}
    kept = (group for group in groups if group.role != "scale" or not _is_beside(group, stems))
    return tuple(group._replace(dtype=None) if group.role != "scale" and rewritten(group) else group for group in kept)


def _is_beside(group: WeightGroup, stems: set[str]) -> bool:
    stem, _, end = group.name.rpartition(".")
    return stem in stems or end in _OF_CACHES


def _is_packed(group: WeightGroup) -> bool:
    return group.role != "scale" and group.dtype is not None and group.dtype not in PLAIN


def _always(group: WeightGroup) -> bool:
    return True
