"""The real-gated linear recurrent unit of Griffin and RecurrentGemma."""

from typing import Literal, NamedTuple


class RgLru(NamedTuple):
    """A gated recurrence with one state per channel, behind a causal convolution."""

    width: int
    conv_kernel: int
    kind: Literal["rg_lru"] = "rg_lru"

    @property
    def state_elems(self) -> int:
        """State per sequence: width.

        Source: De et al. 2024, arXiv:2402.19427 §2.4.
        """
        return self.width

    @property
    def conv_elems(self) -> int:
        """Past inputs that the causal convolution needs: width · (conv_kernel − 1)."""
        return self.width * (self.conv_kernel - 1)
