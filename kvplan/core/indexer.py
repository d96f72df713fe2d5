"""The part of sparse attention that picks tokens; mixers that have one carry it."""

from typing import NamedTuple


class Indexer(NamedTuple):
    """A small key cache, one shared head, that picks the ``top_k`` entries to attend to (DeepSeek-V3.2).

    ``pool_tokens`` is how many tokens one key stands for: 1, or a pool weighted by learned gates (GLM-5-Next).
    """

    n_heads: int
    head_dim: int
    top_k: int
    pool_tokens: int = 1

    @property
    def elems_per_token(self) -> int:
        """Key elements per token in the long run: head_dim, shared by the tokens of a pool.

        Source: DeepSeek-V3.2-Exp report §2.1 (lightning indexer, one shared key head).
        """
        return self.head_dim // self.pool_tokens

    def elems(self, n_tokens: int) -> int:
        """Key elements needed after ``n_tokens``: one key per full pool; the last pool's keys and gates until it is full.

        Upper bound over the tail: right after a pool is full none is pending; a plan must hold the fullest moment.
        """
        pending = min(n_tokens, self.pool_tokens - 1)
        return self.head_dim * (n_tokens // self.pool_tokens + 2 * pending)
