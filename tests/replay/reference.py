"""Caches of prefixes as one would write them down, to hold the fast ones against."""

from collections import OrderedDict, deque
from collections.abc import Hashable, Sequence

Prefix = tuple[int, ...]


class Plain:
    """Blocks by all tokens up to their last, in the order in which they go."""

    def __init__(self, block: int, n_blocks: int | None) -> None:
        self.block, self.n_blocks = block, n_blocks
        self.queue: OrderedDict[Hashable, None] = OrderedDict()
        self._n_unknown = 0

    def take(self, tokens: Sequence[int], n_prompt: int, n_kept: int) -> list[Prefix]:
        """The blocks that were found, in order."""
        found: list[Prefix] = []
        for i in range(max(0, n_prompt - 1) // self.block):
            prefix = tuple(tokens[: (i + 1) * self.block])
            if prefix not in self.queue:
                break
            found.append(prefix)
        used: list[Hashable] = []
        for i in range(n_kept // self.block):
            if (i + 1) * self.block <= len(tokens):
                used.append(tuple(tokens[: (i + 1) * self.block]))
            else:
                self._n_unknown += 1
                used.append(self._n_unknown)
        for one in used:
            self.queue.pop(one, None)
        while self.n_blocks is not None and len(self.queue) + -(-n_kept // self.block) > self.n_blocks:
            self.queue.popitem(last=False)
        for one in reversed(used):
            self.queue[one] = None
        return found


class Physical:
    """Blocks with numbers, a queue of free ones, and a table from hashes to numbers: the engine's own bookkeeping."""

    def __init__(self, block: int, n_blocks: int) -> None:
        self.block = block
        self.free = deque(range(n_blocks))
        self.holds: dict[int, Prefix] = {}
        self.cached: dict[Prefix, int] = {}

    def take(self, prompt: Sequence[int], answer: Sequence[int]) -> list[Prefix]:
        """The blocks that were found; the last token of an answer is never computed."""
        mine: list[int] = []
        for i in range((len(prompt) - 1) // self.block):
            number = self.cached.get(tuple(prompt[: (i + 1) * self.block]))
            if number is None:
                break
            mine.append(number)
        found = [self.holds[number] for number in mine]
        for number in mine:
            self.free.remove(number)
        tokens = [*prompt, *answer[:-1]]
        while len(mine) * self.block < len(tokens):
            number = self.free.popleft()
            self.cached.pop(self.holds.pop(number, ()), None)
            mine.append(number)
            prefix = tuple(tokens[: len(mine) * self.block])
            if len(prefix) == len(mine) * self.block:
                self.holds[number], self.cached[prefix] = prefix, number
        self.free.extendleft(number for number in reversed(mine) if number not in self.holds)  # not full: taken first
        self.free.extend(number for number in reversed(mine) if number in self.holds)
        return found
