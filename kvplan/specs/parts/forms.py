"""Moments of a forward pass that families share, in the letters of ActivationForm.

Read off traces of the modeling code of transformers 5.24: every tensor alive at each local maximum, by width.
"""

from kvplan.core.forms import ActivationForm, Scan, StateMoments, delta_scan
from kvplan.core.mixers import Mamba1

_COPIES = {"gelu_new": 4, "gelu_fast": 5, "quick_gelu": 3, "relu2": 3, "laplace": 3, "gelu_accurate": 4}
_FUSED_COPIES = 2


def plain(act: str, *, hidden: str = "4H") -> tuple[str, ...]:
    """The feed-forward moment of an ungated block: input and output of the activation, and what ``act`` makes in between.

    Activations that are one kernel hold 2; those written out in Python more.
    Source: transformers 5.24 activations.py (NewGELUActivation, FastGELUActivation, QuickGELUActivation, ReLUSquaredActivation).
    """
    return (f"{hidden} + {_COPIES.get(act, _FUSED_COPIES)}I",)


ROTATION = ("3H + 4Q + K + V", "3H + 2Q + 4K + V")
"""Rotating q, then k: the product with cos, the rotated half times sin, and their sum, beside what was projected."""

NORMED_ROTATION = (*ROTATION, "3H + Q + 2fQ")
"""The same with RMS norms on q and k, which compute in float32."""

FLOAT32_ROTATION = ("3H + Q + 3fQ + K + V", "3H + Q + fQ + 3fK + K + V")
"""Rotation by float32 tables: products and sums are float32."""

FLOAT32_COPY_ROTATION = ("3H + Q + 4fQ + fK + K + V", "3H + Q + 2fQ + 4fK + K + V")
"""Rotation of float32 copies of q and k (Cohere)."""

FUSED_CORE = "3H + 2Q + K + V"
"""One projection for q, k and v: its whole output lives as long as the values, beside the rotated queries."""

FUSED_VIEW_CORE = "3H + Q + K + V"
"""The same without rotation: queries are a view of it."""

PARTIAL_CORE = "3H + 2Q + K + NR + GR"
"""Rotation of a part of each head: the parts outlive their concatenation."""

POST_NORMED = ActivationForm(
    norm="5H + 2fH",
    attention=("2H + 4Q + K + V", "2H + 2Q + 4K + V", "2H + Q + 2fQ"),
    core="2H + Q",
    mlp=("3H + 3I",),
)
"""Norms behind attention and feed-forward instead of before (OLMo 2, EXAONE 4): the blocks read the residual itself."""


ROUTING = "4iA + fA + E"
"""Scores of the experts, indices of those chosen, and orders to sort by."""


def moe_moments(*, hidden: str = "4H", float32: bool = False) -> tuple[str, str]:
    """The moments of a mixture under grouped products: putting outputs back in order, and the gate.

    ``hidden`` is what lives around it, ``float32`` says that routing weights make the weighted outputs float32.
    Source: transformers 5.24 integrations/moe.py, grouped_mm_experts_forward.
    """
    weighted = "2AH + 2fAH" if float32 else "4AH"
    return f"{hidden} + {weighted} + {ROUTING}", f"{hidden} + AH + 4AM + {ROUTING}"


LATENT_CORE, LATENT_CONTEXT = "3H + K + V + 2Q + NV", "Q + NP + O"
"""Latent attention: queries twice and their rotated part; keys and values expanded from the cached latent of every token."""


KEY_DECAY = (StateMoments("gated_delta", (Scan("3H + C", "7fD + 3Z"),), "3H + 3fZ", chunk_tokens=64),)
"""Kimi's delta rule with a decay for each key channel: its loop builds products of keys and values for all tokens."""

FUSED_DELTA = (delta_scan("3H + 2C + 2D"),)
"""The delta rule behind one projection of queries, keys, values and output gate, which lives as long as they do."""


def selective_scan(ssm: Mamba1, *, residual: str, inner_norms: bool = False) -> StateMoments:
    """Mamba's loop over the prompt: decays, inputs and their products for each element of the state and all tokens, and outputs as
    they come and stacked. ``residual`` lives around it."""
    projected = ssm.dt_rank + (4 if inner_norms else 2) * ssm.state_dim
    scan = Scan(f"{residual} + 7D + 2fD + 3fZ + {projected}", sequence=f"fZ + {ssm.conv_kernel}D")
    return StateMoments("mamba1", (scan,), f"{residual} + 9D + 5fZ")


def decays(ssm: Mamba1) -> int:
    """Bytes of the state's decays in float32, which one layer makes and all its sequences read."""
    return 4 * ssm.state_elems
