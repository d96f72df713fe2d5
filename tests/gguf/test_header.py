"""What is read of a GGUF header, what is fetched for it, and what is refused in which words."""

import struct
from pathlib import Path

import pytest

from kvplan.core.checkpoint import Tensor
from kvplan.core.errors import RequestError
from kvplan.specs.gguf.header import Skipped, read_header
from kvplan.specs.sources import LocalFile
from tests.gguf.writing import Bytes, Entry, Typed, header, keyed, source

PLAIN = {"general.architecture": "llama", "llama.block_count": 2}
EMBEDDING = Entry("token_embd.weight", (256, 10), 12, 1440)
NORM = Entry("output_norm.weight", (5,), 0, 20)


def refusal(file: Bytes) -> RequestError:
    with pytest.raises(RequestError) as caught:
        read_header(file)
    assert caught.value.kind == "bad_gguf"
    assert caught.value.hint
    assert caught.value.message.startswith(f"{file.name}: ")
    return caught.value


def raw(*entries: bytes, n_tensors: int = 0, n_keys: int | None = None, version: int = 3) -> Bytes:
    """A file of entries that come as bytes, with room behind them."""
    counts = struct.pack("<IQQ", version, n_tensors, len(entries) - n_tensors if n_keys is None else n_keys)
    return Bytes(b"GGUF" + counts + b"".join(entries) + bytes(200))


@pytest.mark.parametrize("version", [2, 3])
def test_keys_and_tensors(version: int) -> None:
    found = read_header(source(PLAIN | {"llama.vocab_size": 10}, [EMBEDDING, NORM], version=version))
    assert found.version == version
    assert dict(found.values) == PLAIN | {"llama.vocab_size": 10}
    assert found.tensors == (
        Tensor("token_embd.weight", "q4_k", (256, 10), 1440),
        Tensor("output_norm.weight", "float32", (5,), 20),
    )
    assert (found.n_vocab, found.alignment, found.data_offset % 32) == (10, 32, 0)


@pytest.mark.parametrize("kind", ["uint8", "int8", "uint16", "int16", "uint32", "int32", "float32", "uint64", "int64", "float64"])
def test_every_kind_of_number(kind: str) -> None:
    found = read_header(source({"one": Typed(kind, 3), "more": Typed(kind, [1, 2]), "many": Typed(kind, [1] * 4097)}))
    assert dict(found.values) == {"one": 3, "more": (1, 2), "many": Skipped(kind, 4097)}


def test_text_truth_and_empty_arrays() -> None:
    found = read_header(source({"yes": True, "each": Typed("bool", [True, False]), "none": Typed("int32", []), "name": "Größe"}))
    assert dict(found.values) == {"yes": True, "each": (True, False), "none": (), "name": "Größe"}


def test_long_text_is_left() -> None:
    found = read_header(source({"template": "x" * 5000, "after": b"\xff cut \xe2"}))
    assert dict(found.values) == {"template": Skipped("text", 5000), "after": "\ufffd cut \ufffd"}


def test_the_vocabulary_is_counted() -> None:
    tokens = Typed("string", ["<s>", "▁the", ""])
    assert read_header(source({"tokenizer.ggml.tokens": tokens, "x": 1})).n_vocab == 3
    assert read_header(source(PLAIN | {"tokenizer.ggml.tokens": tokens, "llama.vocab_size": 4})).n_vocab == 4
    assert read_header(source(PLAIN)).n_vocab is None


def test_own_alignment() -> None:
    found = read_header(source({"general.alignment": 4096}, [NORM, EMBEDDING], alignment=4096))
    assert (found.alignment, found.data_offset) == (4096, 4096)


def test_a_scalar_is_one_row_of_one() -> None:
    assert read_header(source({}, [Entry("scale", (), 0, 4)])).tensors == (Tensor("scale", "float32", (), 4),)


@pytest.mark.parametrize("n_tokens", [1500, 20_000, 300_000])
def test_at_most_twice_the_header_is_fetched(n_tokens: int) -> None:
    file = source(PLAIN | {"tokenizer.ggml.tokens": Typed("string", [f"token{i}" for i in range(n_tokens)])}, [EMBEDDING])
    n_header = read_header(file).data_offset
    assert n_header >= 16 * 2**10
    assert file.n_read <= 2 * n_header
    assert all(stop <= start for (_, stop), (start, _) in zip(file.reads, file.reads[1:], strict=False))


def test_what_is_skipped_is_not_fetched() -> None:
    file = source(PLAIN | {"tokenizer.ggml.scores": Typed("float32", [0.0] * 2**20), "last": 1}, [EMBEDDING])
    read_header(file)
    assert len(file.reads) == 2
    assert file.reads[1][0] > 4 * 2**20


def test_a_local_file(tmp_path: Path) -> None:
    path = tmp_path / "tiny.gguf"
    head, n_data = header(PLAIN, [EMBEDDING])
    path.write_bytes(head + bytes(n_data))
    with LocalFile(path) as file:
        assert read_header(file).tensors[0].n_elems == 2560


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"", "found an empty file"),
        (b"GG", "found b'GG'"),
        (b"<!DOCTYPE html>", "found a web page"),
        (b"version https://git-lfs.github.com/spec/v1", "Git LFS pointer"),
        (b"tjgg" + bytes(100), "before GGUF"),
        (b"GGUF", "byte 4: expected 4 bytes of the header, the file ends after 0 more"),
        (b"GGUF\x03\0\0\0" + bytes(9), "byte 16: expected 8 bytes of the header, the file ends after 1 more"),
    ],
)
def test_no_gguf(data: bytes, said: str) -> None:
    assert said in refusal(Bytes(data)).message


@pytest.mark.parametrize(
    ("version", "said"),
    [(0, "found 0"), (1, "version 1, which no current engine reads"), (4, "found 4"), (3 << 24, "big-endian GGUF file (version 3")],
)
def test_versions(version: int, said: str) -> None:
    assert said in refusal(raw(version=version)).message


@pytest.mark.parametrize(("n_tensors", "n_keys"), [(2**64 - 1, 0), (0, 2**64 - 1), (100, 0), (0, 100)])
def test_counts_beyond_the_file(n_tensors: int, n_keys: int) -> None:
    assert f"{n_tensors:,} tensors and {n_keys:,} keys" in refusal(raw(n_tensors=n_tensors, n_keys=n_keys)).message


def test_more_tensors_than_any_model_has() -> None:
    file = Bytes(b"GGUF" + struct.pack("<IQQ", 3, 2**20, 0), size=2**40)
    assert "at most 65,536 tensors" in refusal(file).message


@pytest.mark.parametrize(
    ("entry", "said"),
    [
        (struct.pack("<Q", 2**63), "byte 24: expected a key of at most 65,535 bytes"),
        (struct.pack("<Q", 5000), "byte 32: expected 5,000 bytes of the header, the file ends after 200 more"),
        (keyed(b"k\xff", 1), "byte 33: expected a key in UTF-8, found byte 0xff"),
        (keyed("k", "")[:-8] + struct.pack("<Q", 2**62), "expected a text of 4,611,686,018,427,387,904 bytes"),
        (keyed("k", "")[:-8] + struct.pack("<Q", 999), "expected 999 bytes of the header"),
        (keyed("k", 1)[:9] + struct.pack("<I", 13), "byte 33: 'k' has the unknown value type 13"),
        (keyed("k", 1)[:9] + struct.pack("<IIQ", 9, 13, 1), "byte 37: 'k' has the unknown value type 13"),
        (keyed("k", 1)[:9] + struct.pack("<IIQ", 9, 9, 1), "'k' is an array of arrays"),
        (keyed("k", 1)[:9] + struct.pack("<IIQ", 9, 4, 2**61), "2,305,843,009,213,693,952 items of 'k'"),
        (keyed("k", 1)[:9] + struct.pack("<IIQ", 9, 4, 4000), "expected 16,000 bytes of the header"),
        (keyed("k", 1)[:9] + struct.pack("<IIQ", 9, 8, 2**40), "at most 2,097,152 strings"),
        (keyed("k", 1)[:9] + struct.pack("<IIQ", 9, 8, 1000), "expected 8 bytes of the header"),
        (keyed("k", 1)[:9] + struct.pack("<IIQQ", 9, 8, 2, 2**64 - 1), "a string of 18,446,744,073,709,551,615 bytes"),
        (keyed("k", Typed("bool", 0))[:-1] + b"\2", "expected 0 or 1 for true or false, found 2"),
        (keyed("general.alignment", 0), "general.alignment: expected a power of two, found 0"),
        (keyed("general.alignment", 48), "found 48"),
        (keyed("general.alignment", Typed("int32", -32)), "found -32"),
        (keyed("general.alignment", Typed("bool", 1)), "found True"),
        (keyed("None.vocab_size", "many"), "None.vocab_size: expected a number of tokens, found 'many'"),
    ],
)
def test_keys_that_are_wrong(entry: bytes, said: str) -> None:
    assert said in refusal(raw(entry)).message


def test_a_key_that_stands_twice() -> None:
    assert "byte 41: key 'k' stands twice" in refusal(raw(keyed("k", 1), keyed("k", 2))).message


@pytest.mark.parametrize(
    ("tensors", "said"),
    [
        ([EMBEDDING, EMBEDDING], "tensor 'token_embd.weight' stands twice"),
        ([Entry("x" * 65, (1,), 0, 4)], "expected a tensor's name of at most 64 bytes, found a length of 65"),
        ([Entry("t", (1, 1, 1, 1, 1), 0, 4)], "5 dimensions; expected at most 4"),
        ([Entry("t", (1,), 4, 4)], "the type 4 (Q4_2), which was removed"),
        ([Entry("t", (1,), 36, 4)], "the type 36 (IQ4_NL_4_4), which was removed"),
        ([Entry("t", (1,), 43, 4)], "the unknown type 43"),
        ([Entry("t", (128, 2), 12, 144)], "rows of 128; expected a multiple of 256 for q4_k"),
        ([Entry("t", (0, 2), 0, 0)], "the sizes [0, 2]"),
        ([Entry("t", (2**33, 2**33), 0, 0)], "expected 1 to 2^63−1 elements"),
        ([NORM._replace(offset=16)], "expected its data at a multiple of 32, found it at 16"),
        ([EMBEDDING, NORM._replace(offset=0)], "expected its data at 1,440, found it at 0: it overlaps the tensor before"),
        ([NORM._replace(offset=32)], "expected its data at 0, found it at 32: it leaves a gap"),
    ],
)
def test_tensors_that_are_wrong(tensors: list[Entry], said: str) -> None:
    assert said in refusal(source(PLAIN, tensors)).message


def test_a_download_that_was_cut_short() -> None:
    whole = source(PLAIN, [EMBEDDING, NORM])
    problem = refusal(Bytes(whole.data, whole.size - 7))
    assert f"need {whole.size:,} bytes, 7 are missing" in problem.message
    assert "cut short" in problem.hint
    assert "missing" in refusal(Bytes(whole.data)).message


def test_every_cut_is_an_error() -> None:
    whole = source(PLAIN | {"list": Typed("string", ["a", "b"])}, [EMBEDDING]).data
    for n_bytes in range(len(whole)):
        refusal(Bytes(whole[:n_bytes]))


def test_a_source_that_gives_less_than_it_said() -> None:
    file = source(PLAIN | {"list": Typed("string", ["text"] * 4000)})
    file.data = file.data[:-100]
    file.read = lambda start, stop: file.data[start:stop]  # type: ignore[method-assign]  # a server that ends early
    assert "the header" in refusal(file).message


def test_keys_larger_than_any_models() -> None:
    layers = Typed("int64", [1] * 4096)
    assert "at most 8 MiB" in refusal(source({f"key{i}": layers for i in range(60)})).message


class Endless(Bytes):
    """Behind its data every string is a million bytes long, and so is what follows it."""

    def read(self, start: int, stop: int) -> bytes:
        filled = struct.pack("<Q", 2**20) * ((stop - start) // 8 + 2)
        return (self.data + filled)[start:stop] if start < len(self.data) else filled[start % 8 :][: stop - start]


def test_a_header_without_end() -> None:
    data = b"GGUF" + struct.pack("<IQQ", 3, 0, 1) + keyed("a list__", 1)[:16] + struct.pack("<IIQ", 9, 8, 2 * 2**20)
    assert len(data) % 8 == 0
    assert "header of at most 128 MiB" in refusal(Endless(data, size=2**44)).message
