"""The weights of a model directory: the headers of its files, beside the config that says what they make."""

from contextlib import ExitStack
from pathlib import Path

from kvplan.core.errors import RequestError
from kvplan.core.model import ModelSpec
from kvplan.specs.files import read_json
from kvplan.specs.sources import LocalFile
from kvplan.specs.weight_files import choose, with_weights

_WEIGHTS = (".safetensors", ".bin", ".pth")


def with_folder(spec: ModelSpec, folder: Path) -> ModelSpec:
    """``spec``, read from ``folder``, with the checkpoint there; as it is where the folder holds none, or only its index.

    Raises RequestError for an index or a header that is broken, and for a shard that is missing or can't be read.
    """
    try:
        sizes = {path.name: path.stat().st_size for path in sorted(folder.iterdir()) if path.is_file()}
    except OSError as problem:
        raise RequestError("unreadable_file", f"{folder}: {problem.strerror}", hint="check the path and its permissions") from None
    if not any(name.endswith(_WEIGHTS) for name in sizes):
        return spec
    chosen = choose(sizes, lambda name: read_json(folder / name))
    if chosen is None:
        return spec
    with ExitStack() as stack:
        return with_weights(spec, chosen, lambda name: stack.enter_context(LocalFile(folder / name)))
