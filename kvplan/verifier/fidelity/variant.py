"""Caches to try, as people write them: ``int4``, ``int4:k=channel``, ``int4:rope=before``, ``q8_0/f16``, ``quanto-int4``."""

from typing import Literal, NamedTuple, get_args

from kvplan.core.dtypes import DTYPES, dtype
from kvplan.core.errors import RequestError, did_you_mean

Axis = Literal["token", "channel"]
Rope = Literal["with", "high", "before"]
Backend = Literal["quanto", "hqq", "fp8"]

CHANNEL_GROUP = 32  # KIVI's, arXiv:2402.02750 §4
OWN_GROUP, OWN_RESIDUAL = 64, 128
"""Transformers 5.24 cache_utils.py, QuantizedLayer: elements that share a scale, tokens that are kept as they came."""

DEFAULT = ("fp16", "fp8_e4m3", "int8", "q8_0", "int4", "int4:k=channel", "q4_0", "int2")

_SIMULATED = ("float16", "bfloat16", "float8_e4m3fn", "float8_e5m2", "int8", "int4", "int2", "q8_0", "q4_0")
_SPELLED = ("fp16", "bf16", "fp8", "fp8_e4m3", "fp8_e5m2", "int8", "int4", "int2", "q8_0", "q4_0")
_OWN: dict[str, tuple[Backend, str]] = {
    "quanto-int4": ("quanto", "int4"),
    "quanto-int2": ("quanto", "int2"),
    "hqq-int8": ("hqq", "int8"),
    "hqq-int4": ("hqq", "int4"),
    "hqq-int2": ("hqq", "int2"),
    "transformers-fp8": ("fp8", "float8_e4m3fn"),
}
_HINT = "int8, int4:k=channel, int4:group=32, int4:rope=before, q8_0/f16; options after colons are k, group, residual, rope, rotate"


class Layout(NamedTuple):
    """How keys, or values, are stored.

    ``group`` elements share a scale: of a token and head along its width (None: all of them), or of a channel along the tokens. The
    last ``residual`` tokens stay as they came, and so do those of a group that is not full. ``rope`` says what becomes of the part
    of the keys that the rotary embedding turns: quantized ``with`` it, kept ``high``, or quantized ``before`` it is turned.
    ``rotated``: a Hadamard matrix spreads outliers over the head first, as llama.cpp does with its own types.
    """

    dtype: str
    axis: Axis = "token"
    group: int | None = None
    residual: int = 0
    rope: Rope = "with"
    rotated: bool = False


class Variant(NamedTuple):
    """A cache: its name as people wrote it, keys and values, and whose code it is: None is kvplan's simulation."""

    name: str
    k: Layout
    v: Layout
    backend: Backend | None = None


def variants(text: str) -> tuple[Variant, ...]:
    """The caches of a list with commas, each once. Raises RequestError for what is none."""
    names = [name.strip() for name in text.split(",")]
    return tuple({name: parse(name) for name in names}.values())


def parse(name: str) -> Variant:
    """The cache that ``name`` spells. Raises RequestError for what is none."""
    head, *options = name.split(":")
    if head in _OWN:
        return _own(name, head, options)
    sides = name.split("/")
    if len(sides) > 2:
        raise _wrong(name, "at most one '/', between keys and values")
    k = _side(name, sides[0], is_key=True, alone=len(sides) == 1)
    return Variant(name, k, _side(name, sides[-1], is_key=False, alone=len(sides) == 1))


def _own(name: str, head: str, options: list[str]) -> Variant:
    backend, kind = _OWN[head]
    if backend == "fp8":
        layout = Layout(kind)
        if options:
            raise _wrong(name, "no options: Transformers scales a whole tensor")
    else:
        said = _said(name, options, ("group", "residual"))
        layout = Layout(
            kind, group=_count(name, said, "group", least=1) or OWN_GROUP, residual=_count(name, said, "residual", least=1) or OWN_RESIDUAL
        )
    return Variant(name, layout, layout, backend)


def _side(name: str, text: str, *, is_key: bool, alone: bool) -> Layout:
    """Keys or values; options of keys say nothing of values where both are written as one."""
    kind, *options = text.split(":")
    known = ("k", "group", "residual", "rope", "rotate") if is_key or alone else ("group", "residual", "rotate")
    said = _said(name, options, known)
    stored = _stored(name, kind)
    if said and not stored.startswith(("int", "q")):
        raise _wrong(name, f"no options: {kind} has no scales")
    blocks = stored.startswith("q")
    axis: Axis = "channel" if is_key and _choice(name, said, "k", ("token", "channel")) == "channel" else "token"
    if blocks and ("group" in said or axis == "channel"):
        raise _wrong(name, f"blocks of 32 along a head: {kind} has no other groups")
    group = _count(name, said, "group", least=2)
    rope = next(one for one in get_args(Rope) if one == (_choice(name, said, "rope", get_args(Rope)) or "with"))
    return Layout(
        stored,
        axis=axis,
        group=DTYPES[stored].block_elems if blocks else group or (CHANNEL_GROUP if axis == "channel" else None),
        residual=_count(name, said, "residual", least=0) or 0,
        rope=rope if is_key else "with",
        rotated=(_choice(name, said, "rotate", ("on", "off")) or ("on" if blocks else "off")) == "on",
    )


def _stored(name: str, kind: str) -> str:
    try:
        found = dtype(kind).name
    except RequestError:
        found = ""
    if found not in _SIMULATED:
        near = did_you_mean(kind, [*_SPELLED, *_OWN])
        message = f"--kv-dtype {name}: expected one of {', '.join([*_SPELLED, *_OWN])}, found '{kind}'"
        raise RequestError("unknown_dtype", message, hint=near or _HINT)
    return found


def _said(name: str, options: list[str], known: tuple[str, ...]) -> dict[str, str]:
    said = {}
    for option in options:
        key, sign, value = option.partition("=")
        if not sign or key not in known or key in said:
            raise _wrong(name, f"options {', '.join(f'{one}=…' for one in known)}, each once, found '{option}'")
        said[key] = value
    return said


def _choice(name: str, said: dict[str, str], key: str, known: tuple[str, ...]) -> str | None:
    value = said.get(key)
    if value is not None and value not in known:
        raise _wrong(name, f"{key}={'|'.join(known)}, found '{value}'")
    return value


def _count(name: str, said: dict[str, str], key: str, *, least: int) -> int | None:
    value = said.get(key)
    if value is None:
        return None
    if not value.isdecimal() or int(value) < least:
        raise _wrong(name, f"{key}=N from {least} on, found '{value}'")
    return int(value)


def _wrong(name: str, expected: str) -> RequestError:
    return RequestError("bad_kv_dtype", f"--kv-dtype {name}: expected {expected}", hint=_HINT)


def in_words(variant: Variant) -> str:
    """What the name means, for people."""
    if variant.backend is not None:
        return f"Transformers' own cache ({variant.backend}), {_words(variant.k)}"
    if variant.k == variant.v:
        return _words(variant.k)
    return f"keys: {_words(variant.k)}; values: {_words(variant.v)}"


def _words(layout: Layout) -> str:
    parts = [layout.dtype]
    if layout.dtype.startswith("int"):
        parts.append(
            f"a scale for {layout.group} tokens of a channel"
            if layout.axis == "channel"
            else f"a scale for {layout.group or 'all'} elements of a head"
        )
    parts += ["spread by a Hadamard matrix"] if layout.rotated else []
    parts += [f"the last {layout.residual} tokens as they came"] if layout.residual else []
    parts += {"with": [], "high": ["rotary part as it came"], "before": ["before the rotary embedding"]}[layout.rope]
    return ", ".join(parts)
