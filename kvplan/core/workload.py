"""What the user wants to run: demand, never an engine's setting."""

from typing import NamedTuple


class Workload(NamedTuple):
    """``batch`` sequences of ``ctx_tokens`` each, prompt and output together.

    ``prompt_tokens`` are prefilled in one forward; then ctx − prompt decode forwards append one token each.
    """

    ctx_tokens: int
    batch: int
    prompt_tokens: int

    @property
    def decode_steps(self) -> int:
        """Decode forwards after the prefill."""
        return self.ctx_tokens - self.prompt_tokens
