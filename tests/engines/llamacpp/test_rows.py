"""What layers keep in more than one cache."""

import pytest

import kvplan
from kvplan.core.indexer import Indexer
from kvplan.core.mixers import FullAttention
from kvplan.core.model import Layer
from kvplan.core.remembered import Remembered
from kvplan.engines.llamacpp.rows import Row, rows

MODEL = kvplan.load_model("qwen3-0.6b")


@pytest.mark.parametrize(("arch", "v_elems"), [("minimax-m3", 128), ("qwen4exp", 0)])
def test_an_indexer_has_a_cache_of_its_own(arch: str, v_elems: int) -> None:
    """Source: llama.cpp b11434 src/llama-kv-cache-msa.cpp: keys and values of one head; llama-kv-cache-dsa.cpp: keys alone."""
    layer = Layer((FullAttention(32, 4, 128, 128, indexer=Indexer(4, 64, 2048)),), (), ())
    assert rows(MODEL._replace(model_type=arch), layer) == (Row("full", 512, 512), Row("indexer", 64, v_elems))


def test_nothing_is_remembered_beyond_the_most() -> None:
    found: Remembered[int] = Remembered(2)
    other = MODEL._replace()
    assert [found.get(MODEL, ("a",), lambda: 1), found.get(other, ("a",), lambda: 2), found.get(MODEL, ("a",), lambda: 3)] == [1, 2, 1]
    assert [found.get(MODEL, ("b",), lambda: 4), found.get(MODEL, ("a",), lambda: 5)] == [4, 5]
