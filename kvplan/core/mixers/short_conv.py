"""A gated short convolution."""

from typing import Literal, NamedTuple


class ShortConv(NamedTuple):
    """A causal depthwise convolution of ``channels`` channels (LFM2).

    Source: transformers 5.24 models/lfm2/modeling_lfm2.py, Lfm2ShortConv.
    """

    channels: int
    conv_kernel: int
    kind: Literal["short_conv"] = "short_conv"

    @property
    def state_elems(self) -> int:
        """No recurrent state."""
        return 0

    @property
    def conv_elems(self) -> int:
        """Past inputs that the mathematics needs: channels · (conv_kernel − 1)."""
        return self.channels * (self.conv_kernel - 1)
