"""Models in several GGUF files: the names of their parts, and their headers as one.

Every part has a header of its own with the tensors it holds; keys that describe the model are in the first alone.
Source: llama.cpp b11434 src/llama.cpp, llama_split_path, and tools/gguf-split.
"""

import re
from collections.abc import Sequence

from kvplan.core.errors import RequestError
from kvplan.specs.gguf.header import Header

_PART = re.compile(r"(.*)-(\d{5})-of-(\d{5})\.gguf", re.DOTALL)


def parts(name: str) -> tuple[str, ...]:
    """The files of the model that the file ``name`` is, or is a part of, in order.

    Raises RequestError for a part whose number is not among those that there are.
    """
    found = _PART.fullmatch(name)
    if found is None:
        return (name,)
    stem, number, count = found[1], int(found[2]), int(found[3])
    if not 1 <= number <= count:
        raise RequestError("bad_gguf", f"{name}: expected a part from 1 to {count}, found {number}", hint="name the first part")
    return tuple(f"{stem}-{i:05d}-of-{found[3]}.gguf" for i in range(1, count + 1))


def joined(names: Sequence[str], headers: Sequence[Header]) -> Header:
    """The headers of all parts as one: the first with the tensors of all.

    Raises RequestError where they are not the parts of one model: by their count, number, or tensors.
    """
    first = headers[0]
    if len(names) == 1:
        _check_whole(names[0], first)
        return first
    _expect(names[0], first, "split.count", len(names))
    for i, (name, header) in enumerate(zip(names, headers, strict=True)):
        _expect(name, header, "split.no", i)
        if "split.count" in header.values:
            _expect(name, header, "split.count", len(names))
    tensors = tuple(tensor for header in headers for tensor in header.tensors)
    _check_names(names, headers)
    _expect(names[0], first, "split.tensors.count", len(tensors))
    return first._replace(tensors=tensors)


def _check_whole(name: str, header: Header) -> None:
    count = header.values.get("split.count", 1)
    if count not in (0, 1):
        text = f"{name}: one of {count} parts by its split.count; expected its name to say which, as in name-00001-of-00002.gguf"
        raise RequestError("bad_gguf", text, hint="give all parts the names that they were published with")


def _expect(name: str, header: Header, key: str, due: int) -> None:
    found = header.values.get(key)
    if found != due:
        text = f"{name}: expected {key} to be {due:,}, found {'none' if found is None else found}"
        raise RequestError("bad_gguf", text, hint="these are not the parts of one model: fetch them again, with their own names")


def _check_names(names: Sequence[str], headers: Sequence[Header]) -> None:
    holder: dict[str, str] = {}
    for name, header in zip(names, headers, strict=True):
        for tensor in header.tensors:
            if tensor.name in holder:
                text = f"{name}: tensor '{tensor.name}' is in {holder[tensor.name]} too"
                raise RequestError("bad_gguf", text, hint="these are not the parts of one model")
            holder[tensor.name] = name
