"""Checkpoints on paper: what a model would weigh if it were quantized so.

One file a family of schemes. It has ``NAMES``, lower-case and with underscores, and ``scheme(name)``.
"""

from collections.abc import Callable, Mapping
from typing import Literal, NamedTuple

from kvplan import _discover
from kvplan.core.dtypes import PLAIN, dtype
from kvplan.core.errors import RequestError, did_you_mean
from kvplan.core.model import Caveat, ModelSpec
from kvplan.specs.config import Config
from kvplan.specs.dequantized import dequantized, is_inexact_anyway

SCHEMES = "kvplan.specs.paper"

Format = Literal["safetensors", "gguf"]

LEFT_ALONE = "embeddings, output projection, norms, routers and towers stay {rest}"
"""What quantizers of checkpoints for Transformers and vLLM leave as it is."""

OFF_BY = (1, 2)
"""Hundredths below and above: tools differ in extra scales and in what they leave alone."""

_OFF_BY_LIKENESS = (5, 5)
_OF_THE_STORED = ("KV004", "KV019", "KV020", "KV023")
"""Caveats of how weights are stored now, which is past on paper."""

_TAKEN_BACK = "such a checkpoint must exist, or be made by dequantizing this one; without --dtype it is counted as stored"


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
    below, above = _OFF_BY_LIKENESS if is_inexact_anyway(spec) else (0, 0)
    made = made._replace(quantization=scheme.name, exact=False, off_by=(below + scheme.off_by[0], above + scheme.off_by[1]))
    return _said(made, name, scheme.rule.format(rest=base), scheme.how)


def _taken_back(spec: ModelSpec, name: str) -> ModelSpec:
    base = plain(name)
    if base is None:
        raise unknown(name)
    return _said(dequantized(spec, base), name, f"weights that are stored as {spec.quantization} are taken back to it", _TAKEN_BACK)


def published(name: str, says: str, maker: str, applied: Callable[[ModelSpec], ModelSpec]) -> Scheme:
    """A scheme that checkpoints are published in; ``maker`` names the tool that makes more of them."""
    how = f"look for such a checkpoint, or make it with {maker}"
    return Scheme(name, f"{says}; {LEFT_ALONE}", how, "safetensors", OFF_BY, applied)


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
