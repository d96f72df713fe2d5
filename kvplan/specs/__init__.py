"""From what people name to a ModelSpec: built-in ids, config.json files, model directories, spec files, stdin."""

from collections.abc import Mapping
from pathlib import Path

from kvplan.core.errors import RequestError
from kvplan.core.model import ModelSpec
from kvplan.specs import builtin
from kvplan.specs.build import build
from kvplan.specs.files import parse_json, parse_yaml, read_json, read_text, read_yaml

__all__ = ["load_model"]


def load_model(ref: str) -> ModelSpec:
    """The model that ``ref`` names.

    ``ref`` is a built-in id or alias, a config.json, a directory with one, a spec file (YAML), or ``-`` for either on
    stdin. Raises RequestError: unknown name (with near matches), unreadable or invalid file, unknown architecture.
    """
    if not ref.strip():
        raise RequestError("unknown_model", "no model named", hint="`kvplan models` shows all; a config.json will do")
    path = Path(ref)
    if ref == "-":
        return _from_text(read_text(path), "<stdin>")
    if _looks_like_path(ref) or path.exists():
        return _from_path(ref, path)
    found = builtin.path_of(ref)
    if found is None:
        raise builtin.unknown(ref)
    return _from_spec(read_yaml(found), where=found.name, source="builtin")


def _looks_like_path(ref: str) -> bool:
    return ref.startswith((".", "/", "~")) or ref.endswith((".json", ".yaml", ".yml"))


def _from_path(ref: str, path: Path) -> ModelSpec:
    path = path.expanduser()
    if path.is_dir():
        if not (path / "config.json").is_file():
            found = ", ".join(sorted(p.name for p in path.iterdir())[:5]) or "nothing"
            raise RequestError(
                "bad_file",
                f"{ref}: a directory without config.json (it holds {found})",
                hint="point at a model directory or at a config.json",
            )
        return _from_config_file(path / "config.json")._replace(id=ref.rstrip("/"), source="dir")
    if path.suffix in (".yaml", ".yml"):
        return _from_spec(read_yaml(path), where=ref, source="spec")
    return _from_config_file(path)._replace(id=ref)


def _from_config_file(path: Path) -> ModelSpec:
    spec = build(read_json(path), where=str(path))
    beside = path.with_name("generation_config.json")
    for file, data in ((path, read_json(path)), (beside, read_json(beside) if beside.is_file() else {})):
        if data.get("use_cache") is False:
            return spec._replace(use_cache_off_in=str(file))
    return spec


def _from_text(text: str, where: str) -> ModelSpec:
    """A config (JSON) or a spec (YAML) from stdin."""
    if text.lstrip().startswith("{"):
        data = parse_json(text, where)
        off = where if data.get("use_cache") is False else None
        return build(data, where=where)._replace(id="-", use_cache_off_in=off)
    return _from_spec(parse_yaml(text, where), where=where, source="spec")


def _from_spec(data: Mapping[str, object], *, where: str, source: str) -> ModelSpec:
    """The model of a spec file; its declared n_params must be the sum of its groups."""
    if source != "builtin":  # the built-in ones are validated by the tests: importing pydantic takes longer than an estimate
        from kvplan.specs.raw import validated

        data = validated(data, where=where)
    config = data["config"]
    assert isinstance(config, Mapping)
    spec = build(config, where=f"{where}: config")._replace(
        id=str(data["id"]), source=source, revision=_text(data.get("revision")), as_of=_text(data.get("as_of"))
    )
    declared = data.get("n_params")
    if declared is not None and declared != spec.n_params:
        raise RequestError(
            "bad_config",
            f"{where}: n_params: declared {declared:,}, the weight groups sum to {spec.n_params:,}",
            hint="the config or the declared total is wrong",
        )
    return spec._replace(use_cache_off_in=f"{where}: config" if config.get("use_cache") is False else None)


def _text(value: object) -> str | None:
    return None if value is None else str(value)
