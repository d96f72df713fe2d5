"""Headers of GGUF files: keys and tensor table, read by growing ranges and never the data.

Source: ggml docs/gguf.md, https://github.com/ggml-org/ggml/blob/master/docs/gguf.md
"""

from collections.abc import Mapping
from typing import NamedTuple

from kvplan.core.checkpoint import Tensor
from kvplan.core.errors import RequestError
from kvplan.core.units import ceil_to
from kvplan.specs.gguf.tensors import check_end, read_tensors
from kvplan.specs.gguf.values import Skipped, Value, read_values
from kvplan.specs.gguf.window import Window
from kvplan.specs.sources import Source

__all__ = ["Header", "Skipped", "Value", "read_header"]

MAX_TENSORS = 65_536  # the most that a real file has are some 45,000, each expert apart
_FIXED_BYTES = 24  # magic, version, two counts
_LEAST_KEY, _LEAST_TENSOR = 13, 24  # bytes of an entry
_DEFAULT_ALIGNMENT = 32
_OTHER_FILES = {
    b"<!DO": "a web page",
    b"<htm": "a web page",
    b"vers": "a Git LFS pointer instead of the file: `git lfs pull` fetches it",
    b"lmgg": "a GGML file from before GGUF",
    b"tjgg": "a GGML file from before GGUF",
    b"algg": "a GGML file from before GGUF",
    b"FUGG": "a byte-swapped file",
    b"PK\x03\x04": "a zip archive or a PyTorch checkpoint",
}


class Header(NamedTuple):
    """What one file, or all parts of a split one, say of themselves.

    ``values`` are the keys in the file's order. Tensors have GGUF's own order of sizes, the fastest running one first: a
    linear layer's shape is (in, out), an embedding's (hidden, vocabulary). ``n_vocab`` is ``{arch}.vocab_size``, else the
    number of ``tokenizer.ggml.tokens``, else None. ``data_offset`` is where the (first) file's data begins, in bytes.
    """

    version: int
    values: Mapping[str, Value]
    tensors: tuple[Tensor, ...]
    n_vocab: int | None
    data_offset: int
    alignment: int


def read_header(source: Source) -> Header:
    """The header of the file at ``source``. Raises RequestError (``bad_gguf``) for what is no whole, sound GGUF file.

    Time and memory are bounded whatever the file says; what is read of it is at most twice the header, or 32 KiB.
    """
    window = Window(source)
    _check_magic(window)
    version = _version(window)
    n_tensors, n_keys = _counts(window)
    values = read_values(window, n_keys)
    alignment = _alignment(window, values)
    tensors = read_tensors(window, n_tensors, alignment)
    data_offset = ceil_to(window.offset, alignment)
    check_end(window, tensors, data_offset, alignment)
    return Header(version, values, tensors, _n_vocab(source, values), data_offset, alignment)


def _check_magic(window: Window) -> None:
    size = window.source.size
    magic = window.take(min(4, size))
    if magic != b"GGUF":
        found = _OTHER_FILES.get(magic, f"{magic!r}" if magic else "an empty file")
        raise window.error(0, f"expected a GGUF file, which begins with 'GGUF', found {found}", hint="point at a model's .gguf file")


def _version(window: Window) -> int:
    version = window.u32()
    if version in (2, 3):
        return version
    if version == 1:
        raise window.error(4, "GGUF version 1, which no current engine reads", hint="convert the model again: versions 2 and 3 are read")
    if version & 0xFFFF == 0 and version:
        swapped = int.from_bytes(version.to_bytes(4, "little"), "big")
        raise window.error(4, f"a big-endian GGUF file (version {swapped} with its bytes swapped)", hint="fetch the little-endian file")
    raise window.error(4, f"expected GGUF version 2 or 3, found {version:,}", hint="newer than this version knows, or damaged")


def _counts(window: Window) -> tuple[int, int]:
    """Tensors and keys. Raises RequestError where the file could not even hold their shortest entries."""
    n_tensors, n_keys = window.u64(), window.u64()
    least = n_keys * _LEAST_KEY + n_tensors * _LEAST_TENSOR
    if least > window.source.size - _FIXED_BYTES or n_tensors > MAX_TENSORS:
        found = f"{n_tensors:,} tensors and {n_keys:,} keys in a file of {window.source.size:,} bytes"
        raise window.error(8, f"expected counts that the file has room for, and at most {MAX_TENSORS:,} tensors, found {found}")
    return n_tensors, n_keys


def _alignment(window: Window, values: Mapping[str, Value]) -> int:
    alignment = values.get("general.alignment", _DEFAULT_ALIGNMENT)
    if not isinstance(alignment, int) or isinstance(alignment, bool) or alignment < 1 or alignment & (alignment - 1):
        raise window.error(window.offset, f"general.alignment: expected a power of two, found {alignment!r}")
    return alignment


def _n_vocab(source: Source, values: Mapping[str, Value]) -> int | None:
    key = f"{values.get('general.architecture')}.vocab_size"
    n_vocab = values.get(key)
    if n_vocab is None:
        tokens = values.get("tokenizer.ggml.tokens")
        return tokens.n if isinstance(tokens, Skipped) else None
    if not isinstance(n_vocab, int) or isinstance(n_vocab, bool):
        raise RequestError("bad_gguf", f"{source.name}: {key}: expected a number of tokens, found {n_vocab!r}", hint="the file is damaged")
    return n_vocab
