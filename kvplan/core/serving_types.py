"""Element types that servers compute in and keep their cache in, as their flags name them."""

from collections.abc import Mapping
from typing import NamedTuple

from kvplan.core.dtypes import dtype
from kvplan.core.errors import RequestError
from kvplan.core.model import ModelSpec

_HALF = ("float16", "bfloat16")


class Types(NamedTuple):
    """What an engine (``title`` is how people write its name) computes in: ``usual`` where nobody says it and the model is not stored in
    16 bits. ``hint`` is what those may want who ask for another type."""

    title: str
    computes: tuple[str, ...]
    usual: str
    hint: str = ""


def computed(said: str | None, model: ModelSpec, types: Types) -> str:
    """The type of activations and unquantized weights. Raises RequestError for one in which nothing runs."""
    if said is None:
        return model.stored_dtype if model.stored_dtype in _HALF else types.usual
    named = dtype(said, where="dtype").name
    if named not in types.computes:
        *others, last = types.computes
        raise RequestError("bad_setting", f"dtype={said}: {types.title} runs in {', '.join(others)} or {last}", hint=types.hint)
    return named


def kept(said: str, flags: Mapping[str, str], title: str) -> str:
    """The type of a cache by kvplan's name; ``flags`` are the engine's words by those. Raises RequestError for one that it has not."""
    by_flag = {flag: name for name, flag in flags.items()} | {name: name for name in flags}
    named = by_flag.get(said) or by_flag.get(dtype(said, where="kv-cache-dtype").name)
    if named is None:
        hint = f"it keeps auto, {', '.join(flags.values())}"
        raise RequestError("bad_setting", f"kv-cache-dtype={said}: {title} keeps no such cache", hint=hint)
    return named
