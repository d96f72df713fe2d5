"""The weights of a model directory: the headers of its files, beside the config that says what they make."""

import os
from contextlib import ExitStack
from pathlib import Path

from kvplan.core.errors import RequestError
from kvplan.core.model import ModelSpec
from kvplan.specs.files import read_json, sizes_in
from kvplan.specs.sources import LocalFile
from kvplan.specs.weight_files import choose, with_weights

_EXPECTED = ("model.safetensors", "model.safetensors.index.json")
_WEIGHTS = (".safetensors", ".bin", ".pth")


def with_folder(spec: ModelSpec, folder: Path) -> ModelSpec:
    """``spec``, read from ``folder``, with the checkpoint there; as it is where the folder holds none, or only its index.

    Raises RequestError for an index or a header that is broken, and for a shard that is missing or can't be read.
    """
    _check_links(folder)
    sizes = sizes_in(folder)
    if not any(name.endswith(_WEIGHTS) for name in sizes):
        return spec
    chosen = choose(sizes, lambda name: read_json(folder / name))
    if chosen is None:
        return spec
    with ExitStack() as stack:

        def open_source(name: str) -> LocalFile:
            stack.close()  # one at a time: a process may not open a thousand
            return stack.enter_context(LocalFile(folder / name))

        return with_weights(spec, chosen, open_source)


def _check_links(folder: Path) -> None:
    """Raises RequestError for weights that are there by name alone: a link that leads nowhere, a folder, a pipe."""
    named = next((path for name in _EXPECTED if os.path.lexists(path := folder / name) and not path.is_file()), None)
    if named is not None:
        found = "a link that leads nowhere" if not named.exists() else "something else"
        raise RequestError("unreadable_file", f"{named}: expected a file, found {found}", hint="take it away, or put the file there")
