"""The file that ``--mmproj`` names: encoders of images and sound, and what makes tokens of their vectors.

Source: llama.cpp b11434 tools/mtmd/clip.cpp: all tensors go to the first accelerator, or to the host with --no-mmproj-offload;
convert_hf_to_gguf.py --mmproj writes matrices in 16 bits unless told otherwise, norms and positions in 32.
"""

from collections.abc import Iterator

from kvplan.core.dtypes import dtype
from kvplan.core.ledger import Entry, Interval
from kvplan.core.model import ModelSpec
from kvplan.core.roles import TOWERS
from kvplan.engines.llamacpp.laid import Laid

_SAID, _USUAL, _LEAST = ("f32", "q8_0"), "f16", "q8_0"
_LONGER = 103  # hundredths: with norms and positions in 32 bits


def n_elems(model: ModelSpec) -> int:
    """Elements of the model's towers; 0 where its file does not have them, as GGUF files of text."""
    return sum(group.rows * group.cols * group.n_copies for group in model.weights if group.role in TOWERS and not group.tied_to)


def projector(laid: Laid) -> Iterator[Entry]:
    """The projector's weights where the model says how many there are: in the type that the file is named after, else in 16 bits."""
    name, elems = laid.settings.mmproj, n_elems(laid.model)
    if name is None or not elems:
        return
    said = next((kind for kind in _SAID if kind in name.lower()), None)
    best, least = dtype(said or _USUAL).row_bytes(elems), dtype(said or _LEAST).row_bytes(elems)
    buffer = laid.layout.names[0] if laid.layout.names and laid.settings.mmproj_offload else "CPU"
    formula, source = "{elems} elements of the model's towers in {type}", "llama.cpp b11434 tools/mtmd/clip.cpp"
    size = Interval(least, best, best * _LONGER // 100)
    given: dict[str, int | str] = {"elems": elems, "type": said or _USUAL}
    yield Entry("projector", "projector", laid.place(buffer), size, "modeled", formula, given, source, buffer)
