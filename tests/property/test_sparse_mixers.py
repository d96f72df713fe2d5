"""What sparse and compressed attention must keep: never less for more tokens, and never more than keeping all."""

from hypothesis import given
from hypothesis import strategies as st

from kvplan.core.indexer import Indexer
from kvplan.core.mixers import CompressedAttention, FullAttention, Mla

TOKENS = st.integers(0, 2**20)
INDEXERS = st.builds(Indexer, st.integers(1, 64), st.integers(1, 256), st.integers(1, 4096), st.integers(1, 64))


@given(INDEXERS, TOKENS)
def test_more_tokens_never_need_fewer_keys(indexer: Indexer, ctx: int) -> None:
    assert 0 <= indexer.elems(ctx) <= indexer.elems(ctx + 1)
    if indexer.pool_tokens == 1:
        assert indexer.elems(ctx) == ctx * indexer.elems_per_token == ctx * indexer.head_dim


@given(INDEXERS, TOKENS)
def test_an_indexer_costs_the_same_beside_any_attention(indexer: Indexer, ctx: int) -> None:
    plain, latent = FullAttention(8, 2, 64, 64), Mla(8, 64, 16, 32, 32, None)
    assert plain._replace(indexer=indexer).indexer_elems(ctx) == latent._replace(indexer=indexer).indexer_elems(ctx)
    assert plain.indexer_elems(ctx) == latent.indexer_elems(ctx) == 0


@given(st.integers(1, 4096), st.integers(0, 256), TOKENS)
def test_compression_keeps_the_window_and_one_entry_a_block(window: int, ratio: int, ctx: int) -> None:
    mixer = CompressedAttention(64, 1, 512, window, ratio)
    assert mixer.kept_tokens(ctx) <= mixer.kept_tokens(ctx + 1)
    assert mixer.pending_elems(ctx) <= mixer.pending_elems(ctx + 1)
    assert mixer.kept_tokens(ctx) - min(ctx, window) == (ctx // ratio if ratio else 0)
    assert ratio or mixer.pending_elems(ctx) == 0


@given(st.integers(1, 4096), TOKENS)
def test_a_windowed_latent_keeps_its_window(window: int, ctx: int) -> None:
    mixer = Mla(8, 64, 16, 32, 32, None)
    assert mixer.kept_tokens(ctx) == ctx
    assert mixer._replace(window_tokens=window).kept_tokens(ctx) == min(ctx, window)


def test_overlapping_blocks_wait_twice_as_wide() -> None:
    # DeepSeek-V4-Flash, ratio 4 with an indexer: 3 tokens in two series and the last block in one, values and gates, 512 + 128 wide
    mixer = CompressedAttention(64, 1, 512, 128, 4, Indexer(64, 128, 512))
    assert mixer.pending_elems(1000) == 2 * (2 * 3 + 4) * (512 + 128)
    assert mixer.indexer_elems(1000) == 250 * 128
    assert CompressedAttention(64, 1, 512, 128, 128).pending_elems(1000) == 2 * 127 * 512
