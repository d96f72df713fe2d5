"""The config of a model as its author wrote it: what Transformers builds from."""

from pathlib import Path

from kvplan.core.errors import RequestError
from kvplan.specs import builtin, load_model
from kvplan.specs.files import read_json, read_yaml


def config_of(ref: str) -> dict[str, object]:
    """The config of the built-in model, config.json, model directory or spec file that ``ref`` names.

    Raises RequestError for anything else.
    """
    if ref == "-":
        raise RequestError("unsupported", "verify can't read a model from stdin", hint="write it to a config.json first")
    load_model(ref)
    path = Path(ref).expanduser()
    if path.is_dir():
        return read_json(path / "config.json")
    if path.suffix in (".yaml", ".yml"):
        return _config(read_yaml(path))
    if path.is_file():
        return read_json(path)
    model_id = builtin.find(ref)
    if model_id is None:
        raise builtin.unknown(ref)
    return _config(builtin.read(model_id))


def _config(spec: dict[str, object]) -> dict[str, object]:
    config = spec["config"]
    assert isinstance(config, dict)
    return config
