"""Safetensors headers: what is read, and what each broken file is told."""

import json
import tracemalloc
from pathlib import Path

import pytest

from kvplan.core.checkpoint import Tensor
from kvplan.core.errors import RequestError
from kvplan.specs import safetensors
from kvplan.specs.safetensors import FIRST_READ_BYTES, read_header
from kvplan.specs.sources import LocalFile
from tests.weights import InMemory, claimed, framed, whole

SMALL = {"a.weight": ("BF16", (4, 3)), "b": ("F4", (2, 6)), "empty": ("I64", (0, 7)), "one": ("F32", ())}


def test_tensors_as_the_header_has_them() -> None:
    assert read_header(claimed(SMALL)) == (
        Tensor("a.weight", "bfloat16", (4, 3), 24),
        Tensor("b", "float4_e2m1", (2, 6), 6),
        Tensor("empty", "int64", (0, 7), 0),
        Tensor("one", "float32", (), 4),
    )


def test_a_file_on_disk(tmp_path: Path) -> None:
    path = tmp_path / "model.safetensors"
    path.write_bytes(whole(SMALL))
    with LocalFile(path) as source:
        assert sum(tensor.n_bytes for tensor in read_header(source)) == 34


def test_a_file_of_no_tensors() -> None:
    assert read_header(InMemory(framed({}))) == ()


def test_padding_other_spacing_and_braces_in_texts() -> None:
    text = json.dumps({"__metadata__": {"note": '},"x{'}, "a": {"dtype": "U8", "shape": [2], "data_offsets": [0, 2]}}, indent=2)
    head = framed(text.encode() + b"    ")
    assert read_header(InMemory(head, len(head) + 2)) == (Tensor("a", "uint8", (2,), 2),)


def many(n: int, *, name: str = "model.layers.{}.mlp.experts.{}.down_proj.weight") -> InMemory:
    return claimed({name.format(i // 1000, i % 1000): ("BF16", (7168, 2048)) for i in range(n)})


def test_a_short_header_is_one_read_and_a_long_one_two() -> None:
    short, long = many(10), many(5000)
    assert len(read_header(short)) == 10
    assert short.reads == [(0, FIRST_READ_BYTES)]
    assert len(read_header(long)) == 5000
    assert long.reads == [(0, FIRST_READ_BYTES), (8, len(long.head))]


def test_memory_of_a_large_header() -> None:
    source = many(10_000)
    tracemalloc.start()
    read_header(source)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < len(source.head) + 4 * 2**20 + 450 * 10_000  # the most tensors: 60 MiB beyond the header


def test_more_tensors_than_any_model_has(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(safetensors, "MAX_TENSORS", 9)
    assert len(read_header(many(9))) == 9
    with pytest.raises(RequestError, match="more than 9 tensors"):
        read_header(many(10))


def entry(dtype: object = "U8", shape: object = (2,), data_offsets: object = (0, 2)) -> dict[str, object]:
    return {"dtype": dtype, "shape": shape, "data_offsets": data_offsets}


LONG = b'{"a":"' + b"x" * 2**22 + b'"}'
BROKEN = {
    "nothing": (b"", "found 0 bytes"),
    "a length alone": (b"\x02" + bytes(7), "found 8 bytes"),
    "another format": (b"GGUF" + bytes(40), "give a header of 1,179,993,927 bytes, the file has 44"),
    "a pointer": (b"version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 9\n", "a Git LFS pointer"),
    "a length beyond the file": (b"\xff" * 8 + b"{}", "the file has 10"),
    "no object": (framed(b"[0]"), "expected the header to begin with '{', found '['"),
    "no end": (framed(b'{"a":1'), "expected one object, from '{' to '}'"),
    "rubbish behind it": (framed(b"{} x"), "expected one object, from '{' to '}'"),
    "no JSON": (framed(b"{a}"), "its header can't be read"),
    "a comma at its end": (framed(b'{"a":1,}'), "its header can't be read"),
    "no UTF-8": (framed(b'{"\xff":1}'), "its header can't be read"),
    "nested nonsense": (framed(b'{"a":' + b"[" * 10**5 + b"]" * 10**5 + b"}"), "nested too deeply"),
    "a long entry": (framed(LONG), "an entry longer than 1,048,576 bytes"),
    "a number of many digits": (framed(b'{"a":' + b"9" * 5000 + b"}"), "its header can't be read"),
    "keys twice": (framed(b'{"a":1,"a":1}'), "'a' appears twice in one object"),
    "no entry": (framed({"a": 1}), "tensor 'a': expected dtype, shape and data_offsets, found 1"),
    "keys missing": (framed({"a": {"dtype": "U8", "x": 1}}), "found the keys dtype, x"),
    "an unknown dtype": (framed({"a": entry("Q4")}), "tensor 'a': unknown dtype \"Q4\""),
    "a dtype of another kind": (framed({"a": entry([])}), "tensor 'a': unknown dtype []"),
    "a negative size": (framed({"a": entry(shape=[-2])}), "found [-2]"),
    "a truth value as a size": (framed({"a": entry(shape=[True])}), "found [true]"),
    "a huge size": (framed({"a": entry(shape=[2**70, 0])}), "found [1180591620717411303424, 0]"),
    "a huge shape": (framed({"a": entry(shape=[2**40, 2**40])}), "expected a shape"),
    "very many dimensions": (framed({"a": entry(shape=[1] * 100)}), "expected a shape"),
    "no shape": (framed({"a": entry(shape=2)}), "expected a shape"),
    "offsets backwards": (framed({"a": entry(data_offsets=[2, 0])}), "expected data_offsets [begin, end], found [2, 0]"),
    "one offset": (framed({"a": entry(data_offsets=[2])}), "found [2]"),
    "offsets that are no numbers": (framed({"a": entry(data_offsets=[0.0, 2.0])}), "found [0.0, 2.0]"),
    "another size than its shape": (framed({"a": entry("F16")}), "F16 of shape [2] does not fill its 2 bytes"),
    "half a byte": (framed({"a": entry("F4", [3], [0, 2])}), "F4 of shape [3] does not fill its 2 bytes"),
    "a hole": (framed({"a": entry(data_offsets=[1, 3])}) + bytes(3), "tensor 'a' at 1 to 3 leaves 1 bytes before it unused"),
    "an overlap": (framed({"a": entry(), "b": entry(data_offsets=[1, 3])}) + bytes(3), "tensor 'b' at 1 to 3 overlaps 'a'"),
    "a file cut off": (framed({"a": entry()}) + bytes(1), "its tensors take 2 bytes behind the header, the file has 1"),
    "a tail": (framed({"a": entry()}) + bytes(5), "3 bytes behind its last tensor belong to none"),
    "metadata of another kind": (framed({"__metadata__": {"a": 1}}), "__metadata__: expected texts by name"),
    "metadata as a list": (framed({"__metadata__": []}), "__metadata__: expected texts by name, found []"),
}


@pytest.mark.parametrize(("file", "told"), BROKEN.values(), ids=BROKEN)
def test_broken_files(file: bytes, told: str) -> None:
    with pytest.raises(RequestError) as refusal:
        read_header(InMemory(file))
    assert refusal.value.kind == "bad_safetensors"
    assert refusal.value.message.startswith("model.safetensors: ")
    assert told in refusal.value.message
    assert refusal.value.hint


def test_a_tensor_named_twice_in_parts_of_the_header_that_are_parsed_apart() -> None:
    text = b",".join(b'"%d":{"dtype":"U8","shape":[0],"data_offsets":[0,0]}' % (i % 9000) for i in range(9001))
    with pytest.raises(RequestError, match="tensor '0' appears twice"):
        read_header(InMemory(framed(b"{" + text + b"}")))


def test_an_entry_missing_at_the_end_of_a_long_header() -> None:
    text = b"".join(b'"%d":{"dtype":"U8","shape":[0],"data_offsets":[0,0]},' % i for i in range(5000))
    for filler in (b"", b" " * 2**18):
        with pytest.raises(RequestError, match="its header can't be read"):
            read_header(InMemory(framed(b"{" + text + filler + b"}")))


def test_a_header_above_the_formats_limit() -> None:
    source = InMemory((10**8 + 1).to_bytes(8, "little") + b"{}", size=2 * 10**8)
    with pytest.raises(RequestError, match="the format allows 100,000,000"):
        read_header(source)


def test_a_header_that_the_source_ends_in() -> None:
    source = InMemory((200_000).to_bytes(8, "little") + b"{}", size=10**6)
    with pytest.raises(RequestError, match="cut off within its header: 2 of 200,000 bytes"):
        read_header(source)
