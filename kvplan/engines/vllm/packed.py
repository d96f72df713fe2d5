"""Groups of layers whose pages differ in size and lie side by side in a block: compressed caches.

Source: vllm 0.33 v1/core/kv_cache_planning.py, _get_packed_kv_cache_groups and _approximate_gcd.
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from kvplan.core.units import ceil_div
from kvplan.engines.vllm.pages import Placed


class Bucket(NamedTuple):
    """Layers that need the same number of token slots, by the size of their page."""

    by_size: dict[int, list[Placed]]

    @property
    def repeats(self) -> int:
        """The most layers of one size: how often the pattern of layers is there."""
        return max(len(layers) for layers in self.by_size.values())

    @property
    def balanced(self) -> bool:
        """As many layers of each size: one of each makes a pattern that can be split."""
        return len({len(layers) for layers in self.by_size.values()}) == 1

    def parts(self, n_groups: int) -> list[list[Placed]]:
        """The layers in ``n_groups`` parts, whole patterns in each."""
        if n_groups == 1:
            return [[member for layers in self.by_size.values() for member in layers]]
        patterns = list(zip(*self.by_size.values(), strict=True))
        return [[member for pattern in patterns[i::n_groups] for member in pattern] for i in range(n_groups)]


def packed(alike: Iterable[Sequence[Placed]]) -> list[list[Placed]]:
    """The layers of each group; ``alike`` are those that could share one, whatever their page size."""
    buckets = [_bucket(members) for members in alike]
    floor = max((bucket.repeats for bucket in buckets if bucket.balanced and len(bucket.by_size) > 1), default=0)
    width = _least_padding([bucket.repeats for bucket in buckets if bucket.balanced], floor) if floor else 0
    counts = [ceil_div(bucket.repeats, width) if bucket.balanced and width else 1 for bucket in buckets]
    return [part for bucket, n_groups in zip(buckets, counts, strict=True) for part in bucket.parts(n_groups)]


def _bucket(members: Sequence[Placed]) -> Bucket:
    by_size: dict[int, list[Placed]] = {}
    for member in members:
        by_size.setdefault(member.slot.page_bytes, []).append(member)
    return Bucket(by_size)


def _least_padding(counts: Sequence[int], least: int) -> int:
    """The width from ``least`` on to which ``counts`` are rounded up with least waste; the larger of equals."""
    widths = range(least, max(counts) + 1)
    return min(widths, key=lambda width: (sum(-count % width for count in counts), -width))
