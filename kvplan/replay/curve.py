"""What a pool of any size would have found, from one replay: least recently used pools contain the smaller ones.

Source: Mattson, Gecsei, Slutz and Traiger 1970, "Evaluation techniques for storage hierarchies": a block is found by every pool that is
larger than the number of blocks used since.
"""

from bisect import bisect_right


class Curve:
    """Blocks found by pools of each size."""

    def __init__(self) -> None:
        """Nothing was found yet."""
        self._steps: dict[int, int] = {}
        self._corners: tuple[list[int], list[int], list[int]] | None = None

    def found(self, since: int, n_blocks: int) -> None:
        """``n_blocks`` blocks of a request, one after the other, were found behind ``since`` others."""
        steps, self._corners = self._steps, None
        steps[since + 1] = steps.get(since + 1, 0) + 1
        steps[since + n_blocks + 1] = steps.get(since + n_blocks + 1, 0) - 1

    def hits(self, pool_blocks: int) -> int:
        """Blocks that a pool of this size finds in all requests."""
        sizes, sums, slopes = self._read()
        at = bisect_right(sizes, pool_blocks) - 1
        return 0 if at < 0 else sums[at] + slopes[at] * (pool_blocks - sizes[at])

    @property
    def most(self) -> int:
        """Blocks that a pool without end finds."""
        return self._read()[1][-1] if self._steps else 0

    def least_pool(self, hits: int) -> int:
        """The smallest pool that finds as many blocks, at most ``most``."""
        sizes, sums, slopes = self._read()
        at = bisect_right(sums, hits - 1) - 1
        return sizes[at] - (sums[at] - hits) // slopes[at] if at >= 0 else 0

    def _read(self) -> tuple[list[int], list[int], list[int]]:
        """Corners of the curve: sizes of the pool, blocks found there, and how many more each further block finds."""
        if self._corners is None:
            sizes, sums, slopes = [], [], []
            last = total = density = 0
            for size in sorted(self._steps):
                total += density * (size - 1 - last)
                density += self._steps[size]
                last = size - 1
                sizes.append(last)
                sums.append(total)
                slopes.append(density)
            self._corners = sizes, sums, slopes
        return self._corners
