"""Models in several files: which files, and what their headers must agree on."""

from collections.abc import Mapping

import pytest

from kvplan.core.errors import RequestError
from kvplan.specs.gguf.header import Header, read_header
from kvplan.specs.gguf.splits import joined, parts
from tests.gguf.writing import Entry, Typed, source

NAMES = ("m-00001-of-00002.gguf", "m-00002-of-00002.gguf")
EMBEDDING = Entry("token_embd.weight", (256, 10), 12, 1440)
NORM = Entry("output_norm.weight", (5,), 0, 20)


def part(number: int, tensors: list[Entry], **changes: object) -> Header:
    """A part as gguf-split writes it; None takes a key out."""
    keys: Mapping[str, object] = {"no": Typed("uint16", number), "count": Typed("uint16", 2), "tensors.count": Typed("int32", 2)} | changes
    return read_header(source({f"split.{key}": value for key, value in keys.items() if value is not None}, tensors))


def test_a_file_for_itself() -> None:
    assert parts("dir/model.gguf") == ("dir/model.gguf",)


@pytest.mark.parametrize("named", NAMES)
def test_any_part_names_all(named: str) -> None:
    assert parts(f"dir/{named}") == tuple(f"dir/{name}" for name in NAMES)


@pytest.mark.parametrize("named", ["m-00000-of-00002.gguf", "m-00003-of-00002.gguf", "m-00001-of-00000.gguf"])
def test_a_part_that_can_not_be(named: str) -> None:
    with pytest.raises(RequestError, match="expected a part from 1 to"):
        parts(named)


def test_tensors_are_added() -> None:
    found = joined(NAMES, [part(0, [EMBEDDING]), part(1, [NORM])])
    assert [tensor.name for tensor in found.tensors] == ["token_embd.weight", "output_norm.weight"]


def test_later_parts_need_not_count() -> None:
    assert len(joined(NAMES, [part(0, [EMBEDDING]), part(1, [NORM], count=None)]).tensors) == 2


@pytest.mark.parametrize("count", [None, 0, 1])
def test_one_of_one(count: int | None) -> None:
    assert joined(["m-00001-of-00001.gguf"], [part(0, [NORM], count=count)]).tensors[0].name == "output_norm.weight"


@pytest.mark.parametrize(
    ("headers", "said"),
    [
        ([part(0, [EMBEDDING], count=3), part(1, [NORM])], "00001-of-00002.gguf: expected split.count to be 2, found 3"),
        ([part(0, [EMBEDDING], count=None), part(1, [NORM])], "00001-of-00002.gguf: expected split.count to be 2, found none"),
        ([part(0, [EMBEDDING]), part(1, [NORM], count=3)], "00002-of-00002.gguf: expected split.count to be 2, found 3"),
        ([part(1, [EMBEDDING]), part(1, [NORM])], "00001-of-00002.gguf: expected split.no to be 0, found 1"),
        ([part(0, [EMBEDDING]), part(0, [NORM])], "00002-of-00002.gguf: expected split.no to be 1, found 0"),
        ([part(0, [EMBEDDING]), part(1, [])], "expected split.tensors.count to be 1, found 2"),
        ([part(0, [EMBEDDING]), part(1, [EMBEDDING])], "tensor 'token_embd.weight' is in m-00001-of-00002.gguf too"),
    ],
)
def test_parts_that_do_not_belong_together(headers: list[Header], said: str) -> None:
    with pytest.raises(RequestError) as caught:
        joined(NAMES, headers)
    assert said in caught.value.message


def test_a_part_under_another_name() -> None:
    with pytest.raises(RequestError, match=r"one of 2 parts by its split\.count"):
        joined(["model.gguf"], [part(0, [EMBEDDING])])
