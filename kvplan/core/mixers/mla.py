"""Multi-head latent attention, alone or with a sparse indexer."""

from typing import Literal, NamedTuple

from kvplan.core.indexer import Indexer


class Mla(NamedTuple):
    """Attention whose cache is one low-rank latent and one rotary key per token, shared by all heads.

    ``window_tokens`` is None where a token sees all earlier ones, else the tokens it sees, itself included (dots3).
    """

    n_heads: int
    kv_lora_rank: int
    rope_head_dim: int
    nope_head_dim: int
    v_head_dim: int
    q_lora_rank: int | None
    indexer: Indexer | None = None
    window_tokens: int | None = None
    kind: Literal["mla"] = "mla"

    @property
    def elems_per_token(self) -> int:
        """Latent elements that one layer keeps per token: kv_lora_rank + rope_head_dim.

        The indexer's keys are apart (``indexer_elems``): engines store them in another type.
        Source: DeepSeek-V2, arXiv:2405.04434 §2.1.2 and table 1.
        """
        return self.kv_lora_rank + self.rope_head_dim

    def indexer_elems(self, ctx_tokens: int) -> int:
        """Key elements of the indexer needed after ``ctx_tokens``, 0 without one."""
        return self.indexer.elems(ctx_tokens) if self.indexer else 0

    def kept_tokens(self, ctx_tokens: int) -> int:
        """Tokens whose latent is still needed after ``ctx_tokens``: all of them, or the window."""
        return min(ctx_tokens, self.window_tokens or ctx_tokens)
