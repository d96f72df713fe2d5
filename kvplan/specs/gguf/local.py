"""GGUF files on this machine: a file, all parts of a split one, or the one model of a folder."""

from contextlib import ExitStack
from pathlib import Path

from kvplan.core.model import ModelSpec
from kvplan.specs.files import sizes_in
from kvplan.specs.gguf.choice import choose
from kvplan.specs.gguf.load import load
from kvplan.specs.sources import LocalFile


def load_file(path: Path) -> ModelSpec:
    """The model in ``path``; where that is one part of several, the others lie beside it. Raises as ``load`` does."""
    with ExitStack() as opened:
        return load(str(path), lambda name: opened.enter_context(LocalFile(Path(name))))


def load_folder(folder: Path) -> ModelSpec:
    """The one model in ``folder``. Raises RequestError where it holds none or several, and as ``load`` does."""
    return load_file(folder / choose(sizes_in(folder), str(folder), prefix=f"{folder}/"))
