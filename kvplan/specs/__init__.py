"""From what people name to a ModelSpec: built-in ids, ids of the Hub, config.json files, model directories, spec files, stdin."""

import os
from collections.abc import Mapping

from kvplan.core.errors import RequestError
from kvplan.core.model import ModelSpec
from kvplan.specs import builtin
from kvplan.specs.build import build

__all__ = ["from_spec", "is_outside", "load_model"]


def load_model(ref: str) -> ModelSpec:
    """The model that ``ref`` names.

    ``ref`` is a built-in id or alias, an id or web address of the Hub, a config.json, a GGUF file, a directory with one, a
    spec file (YAML), or ``-`` for either on stdin. A name with a slash that is no path here is the Hub's, even if a built-in has it
    as alias: the user means that very checkpoint. Raises RequestError: unknown name (with near matches), unreadable or
    invalid file, unknown architecture; UnavailableError where the Hub can't be reached or does not let in.
    """
    if not ref.strip():
        raise RequestError("unknown_model", "no model was named", hint="`kvplan models` shows all; a config.json will do")
    if not _is_path(ref):
        if "/" in ref:
            return _from_hub(ref)
        model_id = builtin.find(ref)
        if model_id is None:
            raise builtin.unknown(ref)
        return from_spec(builtin.read(model_id), where=f"{model_id}.yaml", source="builtin")
    from kvplan.specs import paths

    return paths.load(ref)


def is_outside(ref: str) -> bool:
    """Whether ``ref`` is a path, stdin, or an id or address of the Hub; else it may be a built-in model's name."""
    return _is_path(ref) or ("/" in ref and " " not in ref)


def _from_hub(ref: str) -> ModelSpec:
    from kvplan.specs.hub import address

    found = address.parse(ref)
    if found is None:
        raise builtin.unknown(ref)
    from kvplan.specs.hub.load import load

    return load(found)


def from_spec(data: Mapping[str, object], *, where: str, source: str) -> ModelSpec:
    """The model of a spec file's mapping; the declared n_params must be the sum of its groups, else RequestError."""
    config = data["config"]
    assert isinstance(config, Mapping)
    spec = build(config, where=f"{where}: config")._replace(
        id=str(data["id"]), source=source, revision=_text(data.get("revision")), as_of=_text(data.get("as_of"))
    )
    declared = data.get("n_params")
    if isinstance(declared, int) and declared != spec.n_params:
        raise RequestError(
            "bad_config",
            f"{where}: n_params: declared {declared:,}, the weight groups sum to {spec.n_params:,}",
            hint="the config or the declared total is wrong",
        )
    settled = tuple(caveat for caveat in spec.caveats if caveat.rule != "KV002" or declared is None)  # the total says it is untied
    return spec._replace(caveats=settled, use_cache_off_in=f"{where}: config" if config.get("use_cache") is False else None)


def _is_path(ref: str) -> bool:
    if "://" in ref:
        return False
    if ref.startswith((".", "/", "~")) or ref == "-" or ref.endswith((".json", ".yaml", ".yml")) or os.path.lexists(ref):
        return True
    return ref.lower().endswith(".gguf") and ":" not in ref  # org/name:file.gguf is the Hub's


def _text(value: object) -> str | None:
    return None if value is None else str(value)
