"""Where the weights of a model lie, as Transformers asks for them."""

from pathlib import Path
from typing import NamedTuple

from kvplan.core.errors import RequestError
from kvplan.core.model import ModelSpec
from kvplan.specs import builtin


class Weights(NamedTuple):
    """A folder, or an id of the Hub with its revision; of a GGUF the file in it. ``state`` changes when local files do."""

    where: str
    revision: str | None
    gguf_file: str | None
    state: tuple[tuple[str, int, int], ...] = ()


def of(ref: str, model: ModelSpec) -> Weights:
    """The weights of the ``model`` that ``ref`` names. Raises RequestError where it names none, only what they look like."""
    if model.source == "builtin":
        spec = builtin.read(model.id)
        return Weights(str(spec["repo"]), None if spec.get("revision") is None else str(spec["revision"]), None)
    if model.source == "hub":
        return _on_hub(ref, model)
    path = Path(ref).expanduser().absolute()
    if path.is_dir():
        ggufs = sorted(one.name for one in path.glob("*.gguf"))
        alone = ggufs[0] if ggufs and not (path / "config.json").exists() else None
        return _local(path, alone, sorted(path.glob("*.gguf")) if alone else sorted(path.glob("*.safetensors")), ref)
    if path.suffix.lower() == ".gguf":
        return _local(path.parent, path.name, [path], ref)
    raise _none(ref)


def _local(folder: Path, gguf_file: str | None, files: list[Path], ref: str) -> Weights:
    if not files:
        raise _none(ref)
    state = tuple((file.name, file.stat().st_size, file.stat().st_mtime_ns) for file in files)
    return Weights(str(folder), None, gguf_file, state)


def _on_hub(ref: str, model: ModelSpec) -> Weights:
    from kvplan.specs.hub import address

    found = address.parse(ref)
    assert found is not None  # it was loaded from there
    if found.filename is not None and not found.filename.lower().endswith(".gguf"):
        raise RequestError("unsupported", f"{ref}: Transformers wants the name of the file", hint=f"{found.repo_id}:FILE.gguf")
    return Weights(found.repo_id, model.revision or found.revision, found.filename)


def _none(ref: str) -> RequestError:
    message = f"{ref}: expected weights, which a quality is measured with, found what only describes them"
    return RequestError("no_weights", message, hint="name a folder with *.safetensors, a .gguf file or an id of the Hub")
