"""Fake tensors in simulated allocators."""

import pytest

from kvplan.core.units import KIB, MIB

torch = pytest.importorskip("torch", exc_type=ImportError)
pytest.importorskip("transformers", exc_type=ImportError)

from kvplan.verifier.child import fake  # noqa: E402 - needs torch
from kvplan.verifier.child.simulated import Simulated  # noqa: E402

pytestmark = pytest.mark.torch


def new(n_bytes: int) -> object:
    return torch.empty(n_bytes, dtype=torch.uint8, device="cuda:0")


def reserved(live: Simulated) -> tuple[int, int]:
    return live.native.reserved_bytes, live.expandable.reserved_bytes


def test_storages_are_placed_when_they_are_made_and_freed_when_they_die() -> None:
    assert fake.cuda_device()
    with fake.world(live := Simulated(), (8, 0), None):
        kept, gone, nothing = new(300 * KIB), new(30 * MIB + 1), new(0)
        assert reserved(live) == (2 * MIB + 32 * MIB, 2 * MIB + 40 * MIB)
        assert live.native.allocated_bytes == live.expandable.allocated_bytes == 300 * KIB + 30 * MIB + 512
        del gone, nothing
        assert live.native.allocated_bytes == 300 * KIB
        live.empty_cache()
        assert reserved(live) == (2 * MIB, 2 * MIB)
        live.restart()
        live.take(8 * MIB)
        assert live.live_bytes == live.peak_bytes == 300 * KIB + 8 * MIB
        assert (live.native.peak_reserved_bytes, live.expandable.peak_reserved_bytes) == (22 * MIB, 22 * MIB)
        del kept


def test_of_what_is_made_in_between_only_the_rest_is_placed() -> None:
    assert fake.cuda_device()
    with fake.world(live := Simulated(), (8, 0), None):
        before = new(20 * MIB)
        with live.unplaced():
            passing, kept = new(90 * MIB), new(30 * MIB)
            del passing, before
        assert reserved(live) == (20 * MIB + 30 * MIB, 40 * MIB)
        assert live.native.allocated_bytes == 30 * MIB
        del kept
        assert live.native.allocated_bytes == 0
