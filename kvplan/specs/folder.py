"""The weights of a model directory: the headers of its files, beside the config that says what they make."""

from contextlib import ExitStack
from pathlib import Path

from kvplan.core.model import ModelSpec
from kvplan.specs.files import read_json, sizes_in
from kvplan.specs.sources import LocalFile
from kvplan.specs.weight_files import choose, with_weights


def with_folder(spec: ModelSpec, folder: Path) -> ModelSpec:
    """``spec``, read from ``folder``, with the checkpoint there; as it is where the folder holds none.

    Raises RequestError for an index or a header that is broken, and for a shard that is missing or can't be read.
    """
    chosen = choose(sizes_in(folder), lambda name: read_json(folder / name))
    if chosen is None:
        return spec
    with ExitStack() as stack:
        return with_weights(spec, chosen, lambda name: stack.enter_context(LocalFile(folder / name)))
