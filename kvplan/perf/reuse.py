"""What a cache saves: the operations of decoding with one, and without, where every step computes all earlier tokens again."""

from typing import NamedTuple

from kvplan.perf.values import Growth, Traffic


class Work(NamedTuple):
    """Operations, a product and its sum being two: of tokens with weights, and of queries with keys and values."""

    weights: float
    attention: float

    @property
    def total(self) -> float:
        """Both."""
        return self.weights + self.attention


class Generation(NamedTuple):
    """A prompt of ``prompt_tokens``, then steps of a token each until the sequence is ``ctx_tokens`` long; logits of one row a pass."""

    traffic: Traffic
    prompt_tokens: int
    ctx_tokens: int

    def last_step(self, *, cached: bool) -> Work:
        """One token that looks at all before it; without a cache all tokens, each of which looks at those before it."""
        n = self.ctx_tokens
        if cached:
            return self._work(1, 1, [pairs(group, n) - pairs(group, n - 1) for group in self.traffic.growth])
        return self._work(n, 1, [pairs(group, n) for group in self.traffic.growth])

    def whole(self, *, cached: bool) -> Work:
        """Prompt and steps: each token once, or again in every pass that follows it."""
        first, last = self.prompt_tokens, self.ctx_tokens
        n_passes = last - first + 1
        if cached:
            return self._work(last, n_passes, [pairs(group, last) for group in self.traffic.growth])
        n_tokens = (first + last) * n_passes // 2
        return self._work(n_tokens, n_passes, [_summed(group, last) - _summed(group, first - 1) for group in self.traffic.growth])

    def _work(self, n_tokens: int, n_rows: int, n_pairs: list[int]) -> Work:
        per_token = self.traffic.token_flops + self.traffic.expert_flops
        scores = sum(group.pair_flops * n for group, n in zip(self.traffic.growth, n_pairs, strict=True))
        return Work(n_tokens * per_token + n_rows * self.traffic.row_flops, scores)


def pairs(group: Growth, n_tokens: int) -> int:
    """Query and key, over a pass of ``n_tokens`` from the first: the sum of min(t, window)."""
    low, over = _parts(group, n_tokens)
    return low * (low + 1) // 2 + over * low


def _summed(group: Growth, n_tokens: int) -> int:
    """The pairs of passes of 1, 2 … ``n_tokens`` tokens together."""
    low, over = _parts(group, n_tokens)
    return low * (low + 1) * (low + 2) // 6 + over * (low * (low + 1) // 2) + low * (over * (over + 1) // 2)


def _parts(group: Growth, n_tokens: int) -> tuple[int, int]:
    """Tokens within the window, and those after it."""
    low = n_tokens if group.window_tokens is None else min(n_tokens, group.window_tokens)
    return low, n_tokens - low
