"""Models in GGUF files: every part's header read, joined, and built into a ModelSpec."""

from collections.abc import Callable

from kvplan.core.checkpoint import Checkpoint, Part, Tensor, summed
from kvplan.core.errors import RequestError
from kvplan.core.model import ModelSpec
from kvplan.core.roles import Role
from kvplan.specs.gguf.build import build
from kvplan.specs.gguf.header import Header, read_header
from kvplan.specs.gguf.keys import Keys
from kvplan.specs.gguf.names import place, role
from kvplan.specs.gguf.splits import joined, parts
from kvplan.specs.sources import Source

_OTHER_KINDS = {"adapter": "an adapter (LoRA)", "imatrix": "an importance matrix", "mmproj": "a projector (mmproj)"}
"""Values of general.type besides ``model``. Source: gguf 0.19 constants.py, GGUFType."""


def load(first: str, open_source: Callable[[str], Source]) -> ModelSpec:
    """The model in the file ``first`` and, where that is one part of several, in all of them.

    ``open_source`` opens a file by name. Raises RequestError for a file that is damaged, missing, or holds something
    else than a language model, and for an architecture that is not known; KvplanError for what can't be read.
    """
    names = parts(first)
    sources = [_opened(name, i, len(names), open_source) for i, name in enumerate(names)]
    where = sources[0].name
    header = joined([source.name for source in sources], [read_header(source) for source in sources])
    _check_kind(where, header)
    spec = build(header, where)
    _check_projections(where, spec)
    checkpoint = _checkpoint(header, len(sources), sum(source.size for source in sources), where)
    return spec._replace(id=first, source="gguf", checkpoint=checkpoint)


def _opened(name: str, index: int, count: int, open_source: Callable[[str], Source]) -> Source:
    """The file ``name``; one part of several is said to be one where it is missing."""
    try:
        return open_source(name)
    except RequestError as problem:
        if count == 1:
            raise
        text = f"part {index + 1} of {count} is needed: {problem.message}"
        raise RequestError(problem.kind, text, hint="fetch all parts into one folder, with the names they have") from None


def _check_kind(where: str, header: Header) -> None:
    """Raises RequestError for a GGUF file that is no language model."""
    arch, kind = header.values.get("general.architecture"), header.values.get("general.type")
    if arch == "clip":
        kind = "mmproj"
    if isinstance(kind, str) and kind in _OTHER_KINDS:
        raise RequestError("no_model", f"{where}: expected a language model, found {_OTHER_KINDS[kind]}", hint="name the model's file")
    if not header.tensors:
        raise RequestError(
            "no_model", f"{where}: expected a language model, found no tensors: a vocabulary alone", hint="name the model's file"
        )


def _check_projections(where: str, spec: ModelSpec) -> None:
    """Raises RequestError for a layer that keeps something and has nothing to make it with."""
    for i, layer in enumerate(spec.layers()):
        if layer.mixers and not any(group.role in ("attention", "mixer") and group.cols > 1 for group in layer.weights):
            text = f"{where}: layer {i}: expected projections of its attention or states, found none among its tensors"
            raise RequestError("bad_gguf", text, hint="the file holds a part of a model alone: fetch it again")


def _checkpoint(header: Header, n_files: int, file_bytes: int, where: str) -> Checkpoint:
    n_layers = Keys(header, where).n_layers
    holdings = summed((*_part_and_role(tensor, n_layers), tensor) for tensor in header.tensors)
    n_bytes = sum(tensor.n_bytes for tensor in header.tensors)
    return Checkpoint("gguf", "headers", n_files, file_bytes, n_bytes, holdings, header.tensors)


def _part_and_role(tensor: Tensor, n_layers: int) -> tuple[Part, Role]:
    """Blocks behind the last that the model runs predict further tokens."""
    found = place(tensor.name)
    return "mtp" if found.stack == "blk" and found.block >= n_layers else "model", role(found.name)
