"""Models that are files: a config.json, a model directory, a GGUF file, a spec file, stdin."""

import io
from pathlib import Path

from kvplan.core.checkpoint import Checkpoint, Holding
from kvplan.core.errors import RequestError
from kvplan.core.model import ModelSpec
from kvplan.specs import from_spec
from kvplan.specs.beside import GENERATION, Beside, merged, spec_of
from kvplan.specs.build import build
from kvplan.specs.files import parse_json, parse_yaml, read_json, read_text, read_yaml, unreadable


def load(ref: str) -> ModelSpec:
    """The model at the path ``ref`` (``-`` is stdin). Raises RequestError for what can't be read or is no model."""
    if ref == "-":
        return _from_text(read_text(Path("-")), "<stdin>")
    path = _path(ref)
    if path.is_dir():
        return _from_folder(path, ref)._replace(id=ref.rstrip("/") or ref)
    if path.suffix in (".yaml", ".yml"):
        return _outside_spec(read_yaml(path), ref)
    if _is_gguf(path):
        from kvplan.specs.gguf.local import load_file

        return load_file(path)._replace(id=ref)
    return _from_config_file(path)._replace(id=ref)


def _from_folder(folder: Path, ref: str) -> ModelSpec:
    if _holds_gguf_alone(folder):
        from kvplan.specs.gguf.local import load_folder

        return load_folder(folder)
    from kvplan.specs.folder import with_folder

    return with_folder(_from_config_file(_config_in(folder, ref)), folder)._replace(source="dir")


def _path(ref: str) -> Path:
    """The path that ``ref`` names. Raises RequestError where no path can be named so."""
    try:
        path = Path(ref).expanduser()
        path.exists()
    except RuntimeError:
        raise RequestError("unreadable_file", f"{ref}: there is no such user", hint="write the folder out") from None
    except OSError as problem:  # a name too long
        raise unreadable(ref, problem) from None
    return path


def _is_gguf(path: Path) -> bool:
    """By its name, or by its first bytes: Ollama's files are named by their hashes."""
    if path.suffix.lower() == ".gguf":
        return True
    try:
        with path.open("rb") if path.is_file() else io.BytesIO() as file:
            return file.read(4) == b"GGUF"
    except OSError:
        return False  # told where it is read in full


def _holds_gguf_alone(folder: Path) -> bool:
    try:
        held = {path.name.lower() for path in folder.iterdir()}
    except OSError:
        return False  # the same
    return "config.json" not in held and any(name.endswith(".gguf") for name in held)


def _config_in(folder: Path, ref: str) -> Path:
    """The config.json of a model directory. Raises RequestError where it holds none, or may not be looked into."""
    path, hint = folder / "config.json", "point at a model directory or at a config.json"
    try:
        held = sorted(p.name for p in folder.iterdir())
    except OSError as problem:
        raise unreadable(ref, problem) from None
    if path.name not in held:
        found = ", ".join(held[:5]) or "nothing"
        raise RequestError("bad_file", f"{ref}: a directory without config.json (it holds {found})", hint=hint)
    if path.is_dir():
        raise RequestError("bad_file", f"{path}: expected a file, found a directory", hint=hint)
    return path


def config_of(path: Path) -> dict[str, object]:
    """What the config at ``path`` and the files beside it say, in one. Raises RequestError for what can't be read."""
    return merged(read_json(path), _beside(path))


def _from_config_file(path: Path) -> ModelSpec:
    return spec_of(read_json(path), str(path), _beside(path))


def _beside(path: Path) -> Beside:
    """What lies beside the config at ``path``; one of another name than config.json has no quantization beside it."""

    def beside(name: str) -> tuple[dict[str, object], str] | None:
        file = path.with_name(name)
        mine = name == GENERATION or path.name == "config.json"
        return (read_json(file), str(file)) if mine and file.is_file() else None

    return beside


def _from_text(text: str, where: str) -> ModelSpec:
    """A config (JSON) or a spec (YAML)."""
    if not text.lstrip().startswith("{"):
        return _outside_spec(parse_yaml(text, where), where)
    data = parse_json(text, where)
    return build(data, where=where)._replace(id="stdin", use_cache_off_in=where if data.get("use_cache") is False else None)


def _outside_spec(data: dict[str, object], where: str) -> ModelSpec:
    from kvplan.specs.raw import validated

    checked = validated(data, where=where)
    spec = from_spec(checked, where=where, source="spec")
    facts = checked["checkpoint"]
    if not isinstance(facts, dict):
        return spec
    from kvplan.specs.reconciled import reconciled

    holdings = tuple(Holding(*held) for held in facts["holdings"])
    return reconciled(spec, Checkpoint(**{**facts, "holdings": holdings}), ())
