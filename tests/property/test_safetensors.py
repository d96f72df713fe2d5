"""Whatever a header says, its tensors fill the file or it is refused by name: never a crash, a wait, or a full memory."""

import json
import time
import tracemalloc
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kvplan.core.checkpoint import Tensor
from kvplan.core.errors import KvplanError
from kvplan.specs.safetensors import ELEMENTS, read_header
from tests.weights import InMemory, entries, framed, n_bytes

PATIENCE_S = 2.0
MEMORY_BYTES = 64 * 2**20

SHAPES = st.lists(st.integers(0, 9).map(lambda n: 4 * n), min_size=1, max_size=4)  # of whole blocks in every type
LAYOUTS = st.dictionaries(
    st.text(max_size=12).filter(lambda name: name != "__metadata__"), st.tuples(st.sampled_from(sorted(ELEMENTS)), SHAPES), max_size=8
)
DEEP = json.loads("[" * 400 + "]" * 400)
NUMBERS = (0, -1, 1, 8, 2**31, 2**63, 10**400, 0.5, float("nan"), True)
VALUES = st.sampled_from(
    [None, "", "F32", "\ud800", *NUMBERS, [], [0, 0], [2**62, 2**62], [1] * 2000, [-1, -1], [[1]], {}, {"a": {}}, DEEP]
)


def check(source: InMemory) -> None:
    """Reads the header within the bounds; what is read sums to the file."""
    tracemalloc.start()
    started = time.process_time()
    try:
        found: tuple[Tensor, ...] | KvplanError = read_header(source)
    except KvplanError as problem:
        found = problem
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert time.process_time() - started < PATIENCE_S
    assert peak < MEMORY_BYTES + len(source.head)
    if isinstance(found, KvplanError):
        assert found.message.startswith("model.safetensors: ")
        assert found.message.isprintable()
    else:
        inside = sum(tensor.n_bytes for tensor in found)
        assert 8 + int.from_bytes(source.head[:8], "little") + inside == source.size
        assert len({tensor.name for tensor in found}) == len(found)


@st.composite
def damaged(draw: st.DrawFn) -> InMemory:
    """A header in which one value, or its key, is another; the file is as large as it should be, or not."""
    layout = draw(LAYOUTS)
    header: dict[str, Any] = entries(layout)
    name = draw(st.sampled_from(sorted(header)))
    value = draw(VALUES)
    where = draw(st.sampled_from(["entry", *(header[name] if isinstance(header[name], dict) else ())]))
    if where == "entry":
        header[name] = value
    else:
        header[name][where] = value
    head = framed(header)
    return InMemory(head, len(head) + draw(st.sampled_from([0, sum(n_bytes(*tensor) for tensor in layout.values()), 2**40])))


@given(LAYOUTS)
def test_what_is_written_is_read(layout: dict[str, tuple[str, list[int]]]) -> None:
    head = framed(entries(layout))
    found = read_header(InMemory(head, len(head) + sum(n_bytes(*tensor) for tensor in layout.values())))
    expected = {name: (ELEMENTS[dtype], tuple(shape)) for name, (dtype, shape) in layout.items()}
    assert {tensor.name: (tensor.dtype, tensor.shape) for tensor in found} == expected


@settings(suppress_health_check=[HealthCheck.too_slow])
@given(damaged())
def test_damaged_values(source: InMemory) -> None:
    check(source)


@given(LAYOUTS, st.data())
def test_damaged_bytes(layout: dict[str, tuple[str, list[int]]], data: st.DataObject) -> None:
    head = bytearray(framed(entries(layout)))
    size = len(head) + sum(n_bytes(*tensor) for tensor in layout.values())
    for _ in range(data.draw(st.integers(1, 4))):
        place = data.draw(st.integers(0, len(head) - 1))
        head[place] = data.draw(st.integers(0, 255))
    cut = data.draw(st.sampled_from([len(head), len(head) // 2, 9, 0]))
    check(InMemory(bytes(head[:cut]), min(size, cut) if cut < len(head) else size))


@given(st.binary(max_size=200))
def test_any_bytes(file: bytes) -> None:
    check(InMemory(file))


def test_nested_nonsense_as_large_as_a_header() -> None:
    n = 9 * 2**20
    inside = b"[" * n, b'"a":' + b'{"a":' * (n // 5), b'"a":[' + b"[]," * (n // 3) + b"[]]", b" " * n, b'"a":' + b"{}," * (n // 3)
    for text in inside:
        check(InMemory(framed(b"{" + text + b"}")))
