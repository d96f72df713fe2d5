"""How many blocks were used since: the weight of all later uses, in logarithmic time."""

from array import array

_FIRST = 1024


class Recency:
    """Weights by the number of a use, and their sum above one: a Fenwick tree that doubles as it fills.

    Source: Fenwick 1994, "A New Data Structure for Cumulative Frequency Tables"; its use for stack distances: Bennett and Kruskal 1975,
    "LRU Stack Processing".
    """

    def __init__(self) -> None:
        """Nothing was used yet."""
        self._weights = array("q", bytes(8 * _FIRST))
        self._tree = array("q", bytes(8 * (_FIRST + 1)))
        self.total = 0

    def add(self, use: int, weight: int) -> None:
        """``weight`` more, or less, at ``use``."""
        while use >= len(self._weights):
            self._double()
        self._weights[use] += weight
        self.total += weight
        tree, at = self._tree, use + 1
        while at < len(tree):
            tree[at] += weight
            at += at & -at

    def above(self, use: int) -> int:
        """The sum of all weights after ``use``."""
        tree, at, below = self._tree, use + 1, 0
        while at:
            below += tree[at]
            at &= at - 1
        return self.total - below

    def _double(self) -> None:
        self._weights.extend(bytes(len(self._weights)))
        tree = array("q", [0, *self._weights])
        for at in range(1, len(tree)):
            parent = at + (at & -at)
            if parent < len(tree):
                tree[parent] += tree[at]
        self._tree = tree
