"""The built-in models: one YAML file each, found by id, or by alias through the index ``aliases.tsv``.

Their ``config`` is written in the JSON that YAML contains, and their other keys stand on one line each: read so, a
built-in model needs no YAML parser, whose import alone takes longer than the estimate. A test reads them both ways.
"""

import json
import os
from functools import cache

from kvplan.core.errors import RequestError, near_matches

INDEX = "aliases.tsv"  # reading every spec for an alias takes as long as an estimate

_PACKAGE = os.path.dirname(os.path.dirname(__file__))
_FOLDERS = (os.path.join(_PACKAGE, "_model_specs"), os.path.join(os.path.dirname(_PACKAGE), "model_specs"))  # a wheel; a checkout


@cache
def folder() -> str:
    """Where the built-in specs lie."""
    return next((path for path in _FOLDERS if os.path.isdir(path)), _FOLDERS[0])


def ids() -> list[str]:
    """Ids of all built-in models."""
    return sorted(name.removesuffix(".yaml") for name in os.listdir(folder()) if name.endswith(".yaml"))


def find(name: str) -> str | None:
    """The id of the built-in model that ``name`` is an id or alias of, upper and lower case alike."""
    wanted = name.lower()
    if "/" not in wanted and os.path.isfile(_path(wanted)):
        return wanted
    with open(os.path.join(folder(), INDEX), encoding="utf-8") as file:
        found = file.read().partition(f"\n{wanted}\t")[2]
    return found.partition("\n")[0] or None


def index() -> str:
    """The text of the index as the spec files give it: an alias and its id a line. A test holds the file to it."""
    lines = sorted(f"{alias}\t{model_id}" for model_id in ids() for alias in aliases(model_id))
    return "\n".join(("alias\tid", *lines, ""))


def text(model_id: str) -> str:
    """The spec file of ``model_id`` as it lies there."""
    with open(_path(model_id), encoding="utf-8") as file:
        return file.read()


def read(model_id: str) -> dict[str, object]:
    """The spec of ``model_id``: id, aliases, repo, revision, facts, as_of, n_params, config."""
    head, _, config = text(model_id).partition("\nconfig: ")
    spec: dict[str, object] = {key: None if value == "null" else value for key, value in _pairs(head)}
    return {**spec, "aliases": aliases(model_id), "n_params": int(str(spec["n_params"])), "config": json.loads(config)}


def aliases(model_id: str) -> list[str]:
    """Other names of ``model_id``, in lower case."""
    listed = next((value for key, value in _pairs(text(model_id)) if key == "aliases"), "")
    return [name.strip().lower() for name in listed.strip("[]").split(",") if name.strip()]


_TAGS = "Ollama's library is not asked: behind a built-in name the colon says a type, mostly q4_k_m there; `kvplan models` shows all"


def unknown(name: str) -> RequestError:
    """The error for a name that is nothing we know, with near matches among ids and aliases."""
    close = near(name)
    tagged = ":" in name and "/" not in name and not name.lower().endswith(".gguf")
    guess = f"did you mean {' or '.join(repr(f'{m}:q4_k_m' if tagged else m) for m in close)}?  " if close else ""
    looked = f"looked in: model_specs ({len(ids())} models); not a file or directory"
    return RequestError("unknown_model", f"unknown model '{name}'", details=(looked,), hint=f"{guess}{_TAGS if tagged else _way_out(name)}")


def near(name: str) -> list[str]:
    """Ids of built-in models that are called something like ``name``, best first."""
    owners = {alias: model_id for model_id in ids() for alias in aliases(model_id)}
    owners |= {model_id: model_id for model_id in ids()}
    return list(dict.fromkeys(owners[match] for match in near_matches(name, owners)))


def _way_out(name: str) -> str:
    if name.lower().endswith(".gguf"):
        return "check the path; on the Hub, org/name:file.gguf"
    if "/" in name:
        return "check the path; an id of the Hub is org/name, org/name@revision or org/name:file.gguf"
    return "`kvplan models` shows all"


def _path(model_id: str) -> str:
    return os.path.join(folder(), f"{model_id}.yaml")


def _pairs(head: str) -> list[tuple[str, str]]:
    lines = (line.partition(": ") for line in head.splitlines())
    return [(key, value.strip()) for key, colon, value in lines if colon and not key.startswith((" ", "#"))]
