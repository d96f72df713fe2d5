"""What the mathematics must keep: never less for more tokens, and a window as long as the context is full attention."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kvplan.core import mixers
from kvplan.core.indexer import Indexer
from kvplan.core.mixers import ChunkedAttention, FullAttention, Mla, SlidingAttention

HEADS = st.tuples(st.integers(1, 64), st.integers(1, 16), st.integers(1, 256), st.integers(1, 256))
TOKENS = st.integers(0, 2**20)


@given(HEADS, TOKENS, st.integers(1, 2**20))
def test_a_window_as_long_as_the_context_is_full_attention(heads: tuple[int, int, int, int], ctx: int, window: int) -> None:
    full = FullAttention(*heads)
    for limited in (SlidingAttention(*heads, window + ctx), ChunkedAttention(*heads, window + ctx)):
        assert limited.kept_tokens(ctx) == full.kept_tokens(ctx) == ctx
        assert limited.elems_per_token == full.elems_per_token


@given(HEADS, TOKENS, st.integers(1, 2**20))
def test_more_tokens_never_keep_less(heads: tuple[int, int, int, int], ctx: int, window: int) -> None:
    for mixer in (FullAttention(*heads), SlidingAttention(*heads, window), ChunkedAttention(*heads, window)):
        assert 0 <= mixer.kept_tokens(ctx) <= mixer.kept_tokens(ctx + 1) <= ctx + 1


def test_deepseek_keeps_576_elements_a_token() -> None:
    # DeepSeek-V2, arXiv:2405.04434: kv_lora_rank 512 and one rotary key of 64; V3.2 adds one indexer key of 128
    assert Mla(128, 512, 64, 128, 128, 1536).elems_per_token == 576
    assert Mla(128, 512, 64, 128, 128, 1536, Indexer(64, 128, 2048)).indexer_elems(1) == 128
    assert Mla(128, 512, 64, 128, 128, 1536).indexer_elems(1) == 0


def test_plain_attention_can_have_an_indexer_beside_it() -> None:
    # MiniMax-M3's sparse layers: keys and values of all heads, and one indexer key per token
    with_indexer = FullAttention(8, 4, 16, 16, Indexer(4, 32, 64))
    assert with_indexer.indexer_elems(1) == 32
    assert FullAttention(8, 4, 16, 16).indexer_elems(1) == 0


def test_a_kind_that_is_not_there_is_no_attribute() -> None:
    with pytest.raises(AttributeError, match="Hyena"):
        mixers.Hyena  # noqa: B018  # asking is the point
