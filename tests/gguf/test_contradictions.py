"""GGUF files whose tensors and keys do not make one model."""

from collections.abc import Sequence
from math import prod

import pytest

from kvplan import KvplanError
from kvplan.specs.gguf.load import load
from tests.gguf.writing import Entry, llama, llama_tensors, source


def without(*words: str) -> list[Entry]:
    return [tensor for tensor in llama_tensors() if not any(word in tensor.name for word in words)]


def with_shape(name: str, *shape: int) -> list[Entry]:
    """The tensor ``name`` with another shape of as many elements or more."""
    n_bytes = prod(shape) // 256 * 144
    return [tensor._replace(shape=shape, n_bytes=n_bytes) if tensor.name == name else tensor for tensor in llama_tensors()]


@pytest.mark.parametrize(
    ("tensors", "says"),
    [
        (without("blk.1.attn_q"), "tensor 'blk.1.attn_k.weight': expected attn_q.weight beside it, found none"),
        (without("attn_q", "attn_k", "attn_v", "attn_output"), "layer 0: expected projections of its attention or states"),
        (with_shape("blk.1.attn_k.weight", 512, 128), "expected rows of embedding_length = 256, found 512 × 128"),
        (with_shape("blk.0.attn_v.weight", 256, 1, 128), "expected rows of embedding_length = 256, found 256 × 1 × 128"),
        (
            [*llama_tensors(), Entry("output.weight", (256, 99), 0, 256 * 99 * 4)],
            "expected 256 × 10 like the token embedding, found 256 × 99",
        ),
    ],
)
def test_tensors_that_contradict(tensors: Sequence[Entry], says: str) -> None:
    with pytest.raises(KvplanError, match=says) as caught:
        load("m.gguf", lambda _: source(llama(), tensors))
    assert (caught.value.exit_code, caught.value.kind) == (2, "bad_gguf")
    assert caught.value.hint


def test_keys_without_attention() -> None:
    with pytest.raises(KvplanError, match="expected none in a layer that has no attention by the keys"):
        load("m.gguf", lambda _: source(llama(llama__attention__head_count_kv=0), llama_tensors()))


def test_what_agrees() -> None:
    tensors = [*llama_tensors(), Entry("output.weight", (256, 10), 0, 256 * 10 * 4)]
    checkpoint = load("m.gguf", lambda _: source(llama(), tensors)).checkpoint
    assert checkpoint is not None
    assert checkpoint.n_bytes == sum(tensor.n_bytes for tensor in tensors)
