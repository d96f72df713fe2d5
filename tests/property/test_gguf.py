"""Hostile GGUF headers: whatever is in them, they are read or refused, soon and in little memory."""

import contextlib
import struct
import sys
import time
import tracemalloc
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kvplan.core.errors import KvplanError
from kvplan.specs.gguf.header import MAX_TENSORS, Header, read_header
from kvplan.specs.gguf.load import load
from kvplan.specs.gguf.values import MAX_ITEMS
from kvplan.specs.gguf.window import MAX_STRINGS, MOST_BYTES
from tests.gguf.writing import Bytes, Entry, Typed, header, keyed, llama, llama_tensors

MAX_S, MAX_BYTES = 20.0 if sys.gettrace() else 2.0, 64 * 2**20  # coverage slows loops down
HOSTILE = [0, 1, 7, 8, 9, 12, 13, 255, 4096, 4097, 2**20, 2**31, 2**32 - 1, 2**40, 2**61, 2**62, 2**63 - 1, 2**63, 2**64 - 8, 2**64 - 1]
SIZES = [2**33, 2**44, 2**62]


def whole() -> bytes:
    """A small header with every kind of value."""
    values: dict[str, object] = {
        "general.architecture": "llama",
        "llama.block_count": 2,
        "llama.rope.freq_base": 1e4,
        "llama.attention.head_count_kv": Typed("int32", [1, 2]),
        "llama.flags": Typed("bool", [True, False]),
        "tokenizer.ggml.tokens": Typed("string", ["<s>", "▁the", ""]),
        "tokenizer.ggml.scores": Typed("float32", [0.0] * 5000),
        "tokenizer.chat_template": "x" * 5000,
        "tokenizer.add_bos": True,
        "general.alignment": 32,
    }
    tensors = [Entry(f"blk.{i}.ffn_up.weight", (256, 8, 2), 12, 16 * 144) for i in range(4)]
    return filled(*header(values, [*tensors, Entry("output_norm.weight", (256,), 0, 1024)]))


def filled(head: bytes, n_data: int) -> bytes:
    return head + bytes(n_data)


WHOLE = whole()
SMALL_MODEL = filled(*header(llama(), llama_tensors()))


def timed(read: Callable[[], object]) -> object:
    """Runs ``read``: an answer or a refusal, and soon."""
    start = time.process_time()
    try:
        return read()
    except KvplanError as problem:
        return problem
    finally:
        assert time.process_time() - start < MAX_S


def guarded(read: Callable[[], object], *, most_bytes: int = MAX_BYTES) -> object:
    """The same, and again under the eyes of tracemalloc, which is slow."""
    outcome = timed(read)
    tracemalloc.start()
    with contextlib.suppress(KvplanError):
        read()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak <= most_bytes
    return outcome


@st.composite
def mutated(draw: st.DrawFn, whole: bytes) -> bytes:
    data = bytearray(whole)
    n_header = read_header(Bytes(whole)).data_offset
    for _ in range(draw(st.integers(1, 4))):
        at = draw(st.integers(0, min(len(data), n_header)))
        match draw(st.sampled_from(["byte", "u32", "u64", "cut", "drop", "insert", "repeat"])):
            case "byte":
                data[at : at + 1] = bytes([draw(st.integers(0, 255))])
            case "u32":
                data[at : at + 4] = struct.pack("<I", draw(st.sampled_from(HOSTILE)) % 2**32)
            case "u64":
                data[at : at + 8] = struct.pack("<Q", draw(st.sampled_from(HOSTILE)))
            case "cut":
                del data[at:]
            case "drop":
                del data[at : at + draw(st.integers(1, 64))]
            case "insert":
                data[at:at] = draw(st.binary(max_size=64))
            case _:
                data[at:at] = data[at : at + draw(st.integers(1, 400))]
    return bytes(data)


@given(mutated(WHOLE), st.sampled_from([None, *SIZES]))
@settings(max_examples=400)
def test_mutated_headers(data: bytes, size: int | None) -> None:
    guarded(lambda: read_header(Bytes(data, size)))


@given(mutated(SMALL_MODEL), st.sampled_from([None, *SIZES]))
@settings(max_examples=300)
def test_mutated_models(data: bytes, size: int | None) -> None:
    guarded(lambda: load("model.gguf", lambda name: Bytes(data, size, name)))


@given(st.binary(max_size=400), st.sampled_from([None, *SIZES]))
def test_any_bytes_behind_the_magic(data: bytes, size: int | None) -> None:
    guarded(lambda: read_header(Bytes(b"GGUF\3\0\0\0" + data, size)))


@given(st.sampled_from(HOSTILE), st.sampled_from(HOSTILE), st.sampled_from([None, *SIZES]))
def test_any_counts(n_tensors: int, n_keys: int, size: int | None) -> None:
    data = b"GGUF" + struct.pack("<IQQ", 3, n_tensors, n_keys) + WHOLE[24:]
    guarded(lambda: read_header(Bytes(data, size)))


@given(st.sampled_from(range(15)), st.sampled_from(HOSTILE), st.sampled_from([None, *SIZES]))
@settings(max_examples=150)
def test_any_array(kind: int, n: int, size: int | None) -> None:
    data = b"GGUF" + struct.pack("<IQQ", 3, 0, 2) + keyed("array", 1)[:13] + struct.pack("<IIQ", 9, kind, n)
    guarded(lambda: read_header(Bytes(data, size)))


@pytest.mark.parametrize("n_bytes", [0, 2**10, 2**20])
def test_as_many_strings_as_are_allowed(n_bytes: int) -> None:
    data = b"GGUF" + struct.pack("<IQQ", 3, 0, 1) + keyed("array___", 1)[:16]
    timed(lambda: read_header(Strings(data + struct.pack("<IIQ", 9, 8, MAX_STRINGS), 2**44, n_bytes)))
    guarded(lambda: read_header(Strings(data + struct.pack("<IIQ", 9, 8, 2**14), 2**44, n_bytes)))


def many_tensors(n: int) -> Bytes:
    size = 2**40
    head, n_data = header({}, [Entry(f"{i:064d}", (size + 32 * i, 1, 1, 1), 24, size + 32 * i) for i in range(n)])
    return Bytes(head, len(head) + n_data)


def test_as_many_tensors_as_are_allowed() -> None:
    file, fewer = many_tensors(MAX_TENSORS), many_tensors(MAX_TENSORS // 16)
    found = timed(lambda: read_header(file))
    assert isinstance(found, Header)
    assert len(found.tensors) == MAX_TENSORS
    guarded(lambda: read_header(fewer), most_bytes=MAX_BYTES // 16 + MOST_BYTES)


def test_as_many_keys_as_are_allowed() -> None:
    layers = Typed("int64", [2**40] * MAX_ITEMS)
    head, _ = header({f"key{i}": layers for i in range(100)})
    assert isinstance(guarded(lambda: read_header(Bytes(head))), KvplanError)
    head, _ = header({f"key{i}": 2**30 for i in range(30_000)})
    assert isinstance(guarded(lambda: read_header(Bytes(head))), Header)


class Strings(Bytes):
    """A file that holds strings of ``n_bytes`` behind its header."""

    def __init__(self, data: bytes, size: int, n_bytes: int) -> None:
        super().__init__(data, size)
        self.length = struct.pack("<Q", n_bytes)

    def read(self, start: int, stop: int) -> bytes:
        if start < len(self.data):
            return (self.data + self.length * ((stop - start) // 8))[start:stop]
        return (self.length * ((stop - start) // 8 + 2))[start % 8 :][: stop - start]
