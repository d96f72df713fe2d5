"""A model pinned: the spec file that gives the same answers again, without the Hub and without its files."""

from datetime import date
from pathlib import Path

from kvplan.core.checkpoint import Checkpoint
from kvplan.core.errors import RequestError
from kvplan.core.model import ModelSpec
from kvplan.specs import load_model, paths


def pinned(ref: str) -> dict[str, object]:
    """The spec of the model at ``ref`` (a config.json, a model directory, an id of the Hub) as a mapping.

    It holds the configs in one, the parameter count, and what the headers of its weights said. Raises KvplanError for what
    can't be loaded, and for GGUF files, which say all that a spec would.
    """
    spec = load_model(ref)
    if spec.checkpoint is not None and spec.checkpoint.format == "gguf":
        raise RequestError(
            "unsupported", f"{ref}: a GGUF file has no config to make a spec of", hint="its header is the spec: name the file"
        )
    if spec.source == "hub":
        return _from_hub(spec)
    path = Path(ref).expanduser()
    config_path = path / "config.json" if path.is_dir() else path
    name = config_path.resolve().parent.name if config_path.name == "config.json" else config_path.stem
    return {"id": name.lower(), **_facts(spec), "config": paths.config_of(config_path)}


def _from_hub(spec: ModelSpec) -> dict[str, object]:
    from kvplan.specs.hub import address, load

    found = address.parse(spec.id)
    assert found is not None
    assert spec.revision is not None
    where = {"repo": found.repo_id, "revision": spec.revision, "as_of": date.today()}
    return {"id": spec.id, **where, **_facts(spec), "config": load.config(found, spec.revision)}


def _facts(spec: ModelSpec) -> dict[str, object]:
    return {"n_params": spec.n_params, **({"checkpoint": _summary(spec.checkpoint)} if spec.checkpoint else {})}


def _summary(checkpoint: Checkpoint) -> dict[str, object]:
    """As ``paths`` reads it back."""
    return {**checkpoint.facts(), "holdings": [list(holding) for holding in checkpoint.holdings]}
