"""A pool of blocks that are found again by all tokens up to their last, least recently used first to go.

Source: vLLM docs/design/prefix_caching.md and v1/core/kv_cache_manager.py, v1/core/block_pool.py: only full blocks are kept, a block is
known by its parent and its tokens, at least the last token of a prompt is computed, freed blocks queue up with a request's tail first,
and a block that is not full is the first to be taken again (of 0.28; older ones queue it up with the others). One request is served
after the other. A full block that is computed again because it holds the prompt's last token takes the place of the one kept; vLLM has
both until one goes.
"""

from array import array
from struct import unpack
from typing import NamedTuple

from kvplan.replay.curve import Curve
from kvplan.replay.recency import Recency
from kvplan.replay.tree import Run, common

TOKEN_BYTES = 4
_HASH_BYTES = 8


class Shape(NamedTuple):
    """Tokens in a block, and how many blocks the pool has, None without end."""

    block_tokens: int
    n_blocks: int | None = None


class Taken(NamedTuple):
    """What one request found: tokens in this pool and in one without end, whose session it is, and which request is most like it.

    ``like`` is None for the first; ``alike_tokens`` are those that both have, in whole blocks.
    """

    hit_tokens: int
    endless_hit_tokens: int
    session: int
    like: int | None
    alike_tokens: int


class _Walk(NamedTuple):
    """The way of a request through the tree: its runs, how far they reach, and what was found of each earlier use."""

    runs: list[Run]
    end: int
    found: list[tuple[int, int]]
    like: int


class Blocks:
    """A pool, and what went through it."""

    def __init__(self, shape: Shape) -> None:
        """An empty pool."""
        self.shape, self.curve = shape, Curve()
        self.largest_blocks = 0
        self._roots: dict[object, Run] = {}
        self._recency = Recency()
        self._n_requests = 0
        self._n_sessions = 0
        self._tight = -1
        self._width = _HASH_BYTES if shape.block_tokens > 1 else TOKEN_BYTES

    def fits(self, n_tokens: int) -> bool:
        """Whether the pool can hold so many tokens of one request."""
        limit = self.shape.n_blocks
        return limit is None or -(-n_tokens // self.shape.block_tokens) <= limit

    def take(self, content: bytes, n_prompt: int, n_kept: int, *, session: int | None = None, apart: object = None) -> Taken:
        """Serve a request of ``n_prompt`` tokens that leaves ``n_kept``, whose known tokens ``content`` holds.

        ``session`` is whose it is, a negative number, where that is known; requests with unequal ``apart`` have no block in common. A
        request's number is how many were served before.
        """
        now, block = self._n_requests, self.shape.block_tokens
        self._n_requests += 1
        root = self._roots.setdefault(apart, Run(b"", -1, -1))
        path = self._path(content, n_kept)
        walk = self._walk(root, path)
        whose = self._whose(walk, path) if session is None else session
        hits, endless = self._count(walk, max(0, n_prompt - 1) // block)
        self.largest_blocks = max(self.largest_blocks, -(-n_kept // block))
        self._move(walk, now, n_kept // block, partial=n_kept % block > 0)
        self._grow(walk, path, now, whose)
        return Taken(hits * block, endless * block, whose, walk.like if walk.like >= 0 else None, walk.end // self._width * block)

    def distinct(self) -> tuple[int, int, int]:
        """Distinct full blocks, those of them that several sessions used, and the number of sessions."""
        runs = [run for root in self._roots.values() for run in root.below() if run is not root]
        sessions = {run.session for run in runs}
        n_all, n_shared = (sum(len(run.content) for run in chosen) // self._width for chosen in (runs, [r for r in runs if r.shared]))
        return n_all, n_shared, len(sessions)

    def _path(self, content: bytes, n_kept: int) -> bytes:
        """The full blocks of a request, each as a hash of its own tokens; the tree knows what stands before it."""
        step = TOKEN_BYTES * self.shape.block_tokens
        end = min(len(content) // step, n_kept // self.shape.block_tokens) * step
        if self._width == TOKEN_BYTES:
            return content[:end]
        return array("q", map(hash, unpack(f"{step}s" * (end // step), content[:end]))).tobytes()

    def _walk(self, root: Run, path: bytes) -> _Walk:
        width, at, runs, found, like = self._width, 0, [root], list[tuple[int, int]](), root.next
        while at < len(path):
            run = runs[-1].child(path[at : at + width])
            if run is None:
                break
            n = common(run.content, path, at, width)
            like = run.use
            if n < len(run.content):
                run.split(n, width)
            if found and found[-1][0] == run.use:
                found[-1] = run.use, found[-1][1] + n // width
            else:
                found.append((run.use, n // width))
            runs.append(run)
            at += n
            like = run.next if run.children else like
        return _Walk(runs, at, found, like)

    def _whose(self, walk: _Walk, path: bytes) -> int:
        """The session that a request goes on with: the one whose last request it begins with, else a new one."""
        last = walk.runs[-1]
        if last.content and not last.children and walk.end < len(path):
            return last.session
        self._n_sessions += 1
        return self._n_sessions - 1

    def _count(self, walk: _Walk, most: int) -> tuple[int, int]:
        """Blocks found in this pool and in one without end; ``most`` may be."""
        hits = endless = 0
        limit = self.shape.n_blocks
        for use, n_all in walk.found:
            n = min(n_all, most - endless)
            if n <= 0:
                break
            since = self._recency.above(use) + (use <= self._tight)
            self.curve.found(since, n)
            endless += n
            hits += n if limit is None else max(0, min(n, limit - since))
        return hits, endless

    def _move(self, walk: _Walk, now: int, n_full: int, *, partial: bool) -> None:
        """Let the request's full blocks be the last used ones.

        The block that is not full took room for a while: blocks of uses up to ``_tight`` stood one deeper than now. Blocks that are new
        push all others deeper, and what was once the case no longer matters.
        """
        for use, n in walk.found:
            self._recency.add(use, -n)
        self._recency.add(now, n_full)
        if partial:
            self._tight = now
        elif n_full > sum(n for _, n in walk.found):
            self._tight = -1
        else:
            self._tight = min(self._tight, walk.found[-1][0])

    def _grow(self, walk: _Walk, path: bytes, now: int, session: int) -> None:
        """Mark the way with this request, and let its new blocks follow."""
        for above in walk.runs:
            above.next = now
        for run in walk.runs[1:]:
            run.use = now
            run.shared = run.shared or run.session != session
        rest, last = path[walk.end :], walk.runs[-1]
        if not rest:
            return
        if last.content and not last.children and last.session == session and not last.shared:
            last.content += rest
        else:
            last.put(rest[: self._width], Run(rest, now, session))
