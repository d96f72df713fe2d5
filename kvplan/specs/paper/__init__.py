"""Checkpoints on paper: what a model would weigh if it were quantized so.

One file a family of schemes. It has ``NAMES``, lower-case and with underscores, and ``scheme(name)``.
"""

from collections.abc import Callable, Mapping
from typing import Literal, NamedTuple

from kvplan import _discover
from kvplan.core.dtypes import PLAIN, dtype
from kvplan.core.errors import RequestError, did_you_mean
from kvplan.core.model import Caveat, Layer, LayerRun, ModelSpec, WeightGroup
from kvplan.specs.config import Config
from kvplan.specs.parts.blocks import Groups, runs

SCHEMES = "kvplan.specs.paper"

Format = Literal["safetensors", "gguf"]


class Scheme(NamedTuple):
    """One way to quantize: the rule in a clause, how people come by such a checkpoint, and the model so stored.

    The rule may name ``{rest}``, the element type of what is left alone. ``off_by`` are the hundredths, below and above,
    by which checkpoints of this kind differ from the rule.
    """

    name: str
    rule: str
    how: str
    format: Format
    off_by: tuple[int, int]
    applied: Callable[[ModelSpec], ModelSpec]


def plain(name: str) -> str | None:
    """The element type that ``name`` is, if a model can be loaded in it just so."""
    try:
        found = dtype(name).name
    except RequestError:
        return None
    return found if found in PLAIN else None


def find(name: str) -> Scheme | None:
    """The scheme that people call ``name``, in any case and with either dash; None for an unknown one."""
    key = name.lower().replace("-", "_")
    module = _discover.claimant(SCHEMES, "NAMES", key)
    found: Scheme | None = module.scheme(key) if module else None
    return found


def names(*formats: str) -> list[str]:
    """Schemes by their first names, those of ``formats`` where some are named."""
    schemes = {name: module.scheme(name) for name, module in _discover.claimants(SCHEMES, "NAMES").items()}
    return [name for name, scheme in schemes.items() if scheme.name == name and (not formats or scheme.format in formats)]


def unknown(name: str) -> RequestError:
    """The error for a name that is neither a plain type nor a scheme, with near matches."""
    message = f"--dtype: unknown element type '{name}', and no quantization is called so"
    hint = did_you_mean(name, [*PLAIN, *_discover.claimants(SCHEMES, "NAMES")]) or f"known: {', '.join((*PLAIN, *names()))}"
    return RequestError("unknown_dtype", message, hint=hint)


def requantized(spec: ModelSpec, name: str) -> ModelSpec:
    """``spec`` as its weights would lie if they were quantized by the scheme ``name``, or not at all for a plain type.

    What is quantized already is taken back first: only the shapes count. Raises RequestError for an unknown name.
    """
    scheme = find(name)
    if scheme is None:
        return _taken_back(spec, name)
    base = spec.stored_dtype if spec.stored_dtype in PLAIN else "bfloat16"
    made = scheme.applied(dequantized(spec, base))
    below, above = _OFF_BY_LIKENESS if _inexact_anyway(spec) else (0, 0)
    made = made._replace(quantization=scheme.name, exact=False, off_by=(below + scheme.off_by[0], above + scheme.off_by[1]))
    return _said(made, name, scheme.rule.format(rest=base), scheme.how)


def _taken_back(spec: ModelSpec, name: str) -> ModelSpec:
    base = plain(name)
    if base is None:
        raise unknown(name)
    return _said(dequantized(spec, base), name, f"weights that are stored as {spec.quantization} are taken back to it", _TAKEN_BACK)


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
        exact=not _inexact_anyway(spec),
        checkpoint=None,
    )


def layout(config: Mapping[str, object]) -> Callable[[ModelSpec], ModelSpec]:
    """What a checkpoint with this ``quantization_config`` makes of a model."""

    def applied(spec: ModelSpec) -> ModelSpec:
        from kvplan.specs.quantization import quantized
        from kvplan.specs.storage import METHODS

        module = _discover.claimant(METHODS, "METHODS", str(config["quant_method"]))
        assert module is not None
        return quantized(spec, Config(config, where="--dtype"), module)

    return applied


def _said(spec: ModelSpec, name: str, rule: str, how: str) -> ModelSpec:
    caveats = (caveat for caveat in spec.caveats if caveat.rule not in _OF_THE_STORED)
    return spec._replace(caveats=(*caveats, Caveat("KV025", "note", f"--dtype {name} is a checkpoint on paper: {rule}", how)))


def _inexact_anyway(spec: ModelSpec) -> bool:
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


_INEXACT = ("KV001", "KV005", "KV009")
_OFF_BY_LIKENESS = (5, 5)
_OF_THE_STORED = ("KV004", "KV019", "KV020", "KV023")
"""Caveats of how weights are stored now, which is past on paper."""

_OF_CACHES = ("k_scale", "v_scale")
"""Scales of an FP8 cache, which lie in checkpoints of quantized weights."""
_TAKEN_BACK = "such a checkpoint must exist, or be made by dequantizing this one; without --dtype it is counted as stored"
