"""Mamba's selective state space."""

from typing import Literal, NamedTuple


class Mamba1(NamedTuple):
    """A selective state space of ``inner_dim`` channels with ``state_dim`` states each."""

    inner_dim: int
    state_dim: int
    conv_kernel: int
    dt_rank: int
    kind: Literal["mamba1"] = "mamba1"

    @property
    def state_elems(self) -> int:
        """SSM state per sequence: inner_dim · state_dim.

        Source: Gu & Dao 2023, arXiv:2312.00752 §3.2.
        """
        return self.inner_dim * self.state_dim

    @property
    def conv_elems(self) -> int:
        """Past inputs that the causal convolution needs: inner_dim · (conv_kernel − 1)."""
        return self.inner_dim * (self.conv_kernel - 1)
