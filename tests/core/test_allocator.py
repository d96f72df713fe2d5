"""Sequences worked out by hand from the rules of PyTorch's allocator, each rule with its name there (CUDACachingAllocator.cpp, 2.13)."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kvplan.core.allocator import Block, CachingAllocator
from kvplan.core.expandable import ExpandableAllocator
from kvplan.core.units import GIB, KIB, MIB


def taken(allocator: CachingAllocator) -> tuple[int, int]:
    return allocator.allocated_bytes, allocator.reserved_bytes


@pytest.mark.parametrize(
    ("n_bytes", "allocated", "native", "expandable"),
    [
        pytest.param(1, 512, 2 * MIB, 2 * MIB, id="round_size: at least 512"),
        pytest.param(513, 1024, 2 * MIB, 2 * MIB, id="round_size: a multiple of 512"),
        pytest.param(MIB, MIB, 2 * MIB, 2 * MIB, id="kSmallSize: the last small block"),
        pytest.param(MIB + 1, MIB + 512, 20 * MIB, 20 * MIB, id="get_pool: the first large one"),
        pytest.param(10 * MIB - 512, 10 * MIB - 512, 20 * MIB, 20 * MIB, id="kMinLargeAlloc: the last of a shared segment"),
        pytest.param(10 * MIB, 10 * MIB, 10 * MIB, 20 * MIB, id="kMinLargeAlloc: a segment of its own"),
        # should_split: 2 MiB - 512 would be left, which is more than kSmallSize
        pytest.param(12 * MIB + 1, 12 * MIB + 512, 14 * MIB, 20 * MIB, id="kRoundLarge: to 2 MiB"),
        # should_split: kSmallSize left is not more than kSmallSize; the block is handed out whole
        pytest.param(13 * MIB, 14 * MIB, 14 * MIB, 20 * MIB, id="should_split: 1 MiB is not split off"),
        pytest.param(41 * MIB, 42 * MIB, 42 * MIB, 60 * MIB, id="kRoundLarge and pages of 20 MiB"),
    ],
)
def test_one_block(n_bytes: int, allocated: int, native: int, expandable: int) -> None:
    first, second = CachingAllocator(), ExpandableAllocator()
    first.malloc(n_bytes)
    second.malloc(n_bytes)
    assert taken(first) == (allocated, native)
    assert taken(second) == (-(-n_bytes // 512) * 512, expandable)  # should_split: expandable segments keep any rest


def test_small_and_large_blocks_share_nothing() -> None:
    for allocator in (CachingAllocator(), ExpandableAllocator()):
        kept = [allocator.malloc(15 * MIB), allocator.malloc(512)]
        assert allocator.reserved_bytes == (16 if type(allocator) is CachingAllocator else 20) * MIB + 2 * MIB
        assert len({id(block.pool) for block in kept}) == 2


def test_small_blocks_fill_their_segment() -> None:
    for allocator in (CachingAllocator(), ExpandableAllocator()):
        for _ in range(4):  # 4 · 512 KiB
            allocator.malloc(512 * KIB)
        assert taken(allocator) == (2 * MIB, 2 * MIB)
        allocator.malloc(512)
        assert allocator.reserved_bytes == 4 * MIB


def test_the_best_fit_is_the_smallest_that_will_do() -> None:
    """get_free_block: lower_bound in a set ordered by size."""
    allocator = CachingAllocator()
    blocks = [allocator.malloc(size * MIB) for size in (30, 12, 20)]
    for block in blocks:
        allocator.free(block)
    found = allocator.malloc(16 * MIB)
    assert found.address == blocks[2].address
    assert taken(allocator) == (16 * MIB, 62 * MIB)


def test_neighbors_merge_and_segments_do_not() -> None:
    """free_block: try_merge_blocks with both neighbors; release_blocks: whole segments alone go back."""
    allocator = CachingAllocator()
    first, second, third = (allocator.malloc(6 * MIB) for _ in range(3))  # of 20 MiB; 2 are left
    alone = allocator.malloc(20 * MIB)
    for block in (first, third, second, alone):
        allocator.free(block)
    assert taken(allocator) == (0, 40 * MIB)
    assert allocator.malloc(20 * MIB).size == 20 * MIB
    assert allocator.reserved_bytes == 40 * MIB
    allocator.malloc(21 * MIB)  # 40 MiB are free in two segments, and neither is large enough
    assert allocator.reserved_bytes == (40 + 22) * MIB


def test_a_cache_that_grows_needs_new_segments_natively_and_none_where_they_expand() -> None:
    """What torch.cat does: the new tensor is made before the old one goes."""
    sizes = range(100, 110)
    reserved = []
    for allocator in (CachingAllocator(), ExpandableAllocator()):
        held = allocator.malloc(sizes[0] * MIB)
        for size in sizes[1:]:
            grown = allocator.malloc(size * MIB)
            allocator.free(held)
            held = grown
        reserved.append(allocator.reserved_bytes)
        assert allocator.allocated_bytes in (109 * MIB, 110 * MIB)
    # native: 101 gets 102 whole, and 102 another such segment while 101 is alive; neither is large enough for 103
    assert reserved[0] == sum((100, 102, 102, 104, 104, 106, 106, 108, 108, 110)) * MIB
    # expandable: 100 at 0, 101 behind it (201 of 220), 102 behind that (303 of 320), as 100 are too few; 103 at 0, 104 at 103,
    # 105 at 207, 106 at 0, 107 at 106; 108 at 213 needs a byte more than 320, and one more page; 109 at 0
    assert reserved[1] == 340 * MIB


def test_whole_segments_go_back() -> None:
    allocator = CachingAllocator()
    kept, gone = allocator.malloc(8 * MIB), allocator.malloc(8 * MIB)
    alone, small = allocator.malloc(30 * MIB), allocator.malloc(100)
    for block in (gone, alone, small):
        allocator.free(block)
    allocator.empty_cache()
    assert taken(allocator) == (8 * MIB, 20 * MIB)
    assert allocator.peak_reserved_bytes == 52 * MIB
    allocator.restart()
    assert (allocator.peak_allocated_bytes, allocator.peak_reserved_bytes) == (8 * MIB, 20 * MIB)
    allocator.free(kept)
    allocator.empty_cache()
    assert taken(allocator) == (0, 0)


def test_whole_pages_go_back_and_their_place_is_used_again() -> None:
    """unmap_block: pages within a free block; find_expandable_block: the lowest hole, with the free block before it."""
    allocator = ExpandableAllocator()
    first, second, third = (allocator.malloc(size * MIB) for size in (30, 50, 10))  # 90 of 100 MiB
    allocator.free(second)  # 30 to 80: pages 40 to 80 are free
    allocator.empty_cache()
    assert taken(allocator) == (40 * MIB, 60 * MIB)
    again = allocator.malloc(25 * MIB)  # 30 to 55: one page
    assert (again.address, allocator.reserved_bytes) == (30 * MIB, 80 * MIB)
    allocator.free(again)
    again = allocator.malloc(50 * MIB)
    assert (again.address, allocator.reserved_bytes) == (30 * MIB, 100 * MIB)
    for block in (first, again, third):
        allocator.free(block)
    allocator.empty_cache()
    assert taken(allocator) == (0, 0)
    assert allocator.malloc(MIB + 512).address == 0


def test_a_hole_that_is_too_small_is_passed_over() -> None:
    allocator = ExpandableAllocator()
    blocks = [allocator.malloc(20 * MIB) for _ in range(3)]
    allocator.free(blocks[1])
    allocator.empty_cache()
    assert allocator.malloc(30 * MIB).address == 60 * MIB
    assert allocator.malloc(20 * MIB).address == 20 * MIB


def test_holes_on_both_sides_of_a_free_block_are_filled() -> None:
    allocator = ExpandableAllocator()
    blocks = [allocator.malloc(size * MIB) for size in (30, 20, 30, 20)]  # at 0, 30, 50 and 80
    allocator.free(blocks[0])
    allocator.free(blocks[2])
    allocator.empty_cache()  # 0 to 20 and 60 to 80 go; 20 to 30 and 50 to 60 are free
    assert allocator.reserved_bytes == 60 * MIB
    found = allocator.malloc(28 * MIB)
    assert (found.address, allocator.reserved_bytes) == (0, 80 * MIB)
    allocator.free(blocks[1])  # 28 to 60 are free
    found = allocator.malloc(45 * MIB)
    assert (found.address, allocator.reserved_bytes) == (28 * MIB, 100 * MIB)


def test_a_block_before_a_hole_counts_as_what_it_can_grow_to() -> None:
    """get_free_block: expandable_size. The block at the end could grow without end, so the larger one inside is taken."""
    allocator = ExpandableAllocator()
    inside, between = allocator.malloc(15 * MIB), allocator.malloc(12 * MIB)  # 27 of 40: 13 are free at the end
    allocator.free(inside)
    assert allocator.malloc(11 * MIB).address == 0
    assert not between.is_free


SIZES = st.integers(1, 64 * MIB)


@given(st.lists(st.tuples(SIZES, st.integers(0, 7)), max_size=60), st.booleans())
def test_blocks_never_overlap_and_everything_goes_back(steps: list[tuple[int, int]], expands: bool) -> None:  # noqa: FBT001 - drawn
    allocator = ExpandableAllocator() if expands else CachingAllocator()
    live: list[Block] = []
    for n_bytes, choice in steps:
        if choice < 3 and live:
            allocator.free(live.pop(choice % len(live)))
        elif choice == 3:
            allocator.empty_cache()
        else:
            live.append(allocator.malloc(n_bytes))
            assert live[-1].size >= n_bytes
            assert live[-1].mapped
        for pool in (allocator.small, allocator.large):
            here = sorted((block.address, block.address + block.size) for block in live if block.pool is pool)
            assert all(end <= begin for (_, end), (begin, _) in itertools.pairwise(here))
        assert allocator.allocated_bytes == sum(block.size for block in live) <= allocator.reserved_bytes < 64 * GIB
    for block in live:
        allocator.free(block)
    allocator.empty_cache()
    assert taken(allocator) == (0, 0)
