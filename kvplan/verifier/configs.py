"""The config of a model as its author wrote it: what Transformers builds from."""

from pathlib import Path

from kvplan.core.errors import RequestError
from kvplan.specs import builtin, load_model
from kvplan.specs.config import UnknownArchitectureError
from kvplan.specs.files import read_json, read_yaml
from kvplan.specs.pinning import pinned


def config_of(ref: str) -> dict[str, object]:
    """The config of the built-in model, config.json, model directory, spec file or model of the Hub that ``ref`` names.

    It may be of an architecture that kvplan doesn't know. Raises RequestError for anything else, and UnavailableError where the
    Hub can't be asked.
    """
    if ref == "-":
        raise RequestError("unsupported", "verify can't read a model from stdin", hint="write it to a config.json first")
    try:
        spec = load_model(ref)
    except UnknownArchitectureError:
        return _as_it_lies(ref)
    if spec.checkpoint is not None and spec.checkpoint.format == "gguf":
        message = f"{ref}: expected a model with a config for Transformers to build, found a GGUF file"
        raise RequestError("unsupported", message, hint="name the model that it was made from")
    if spec.source == "builtin":
        return _config(builtin.read(spec.id))
    path = Path(ref).expanduser()
    if path.is_dir():
        return read_json(path / "config.json")
    if path.suffix in (".yaml", ".yml"):
        return _config(read_yaml(path))
    return read_json(path) if path.is_file() and spec.source == "config" else _config(pinned(ref))


def _as_it_lies(ref: str) -> dict[str, object]:
    """The config of a file, a directory or a repository of the Hub, whoever may know its architecture."""
    path = Path(ref).expanduser()
    if path.is_dir():
        return read_json(path / "config.json")
    if path.is_file():
        return _config(read_yaml(path)) if path.suffix in (".yaml", ".yml") else read_json(path)
    from kvplan.specs.hub import address, cache, load

    found = address.parse(ref)
    assert found is not None  # its config was read
    return load.config(found, cache.commit_of(found.repo_id, found.revision or "main") or found.revision or "main")


def _config(spec: dict[str, object]) -> dict[str, object]:
    config = spec["config"]
    assert isinstance(config, dict)
    return config
