"""How an engine runs a model, as far as its speed depends on that."""

from typing import Literal, NamedTuple

EngineClass = Literal["eager", "launched", "served", "ggml", "compiled"]
"""``eager`` launches each kernel from Python, ``served`` replays graphs of fused kernels, ``launched`` runs those without graphs,
``ggml`` has llama.cpp's kernels, ``compiled`` is an engine built ahead of time for one model and card."""


class Pace(NamedTuple):
    """What of the settings bears on time.

    ``dtype`` is the type of weights that name no other, None where they stay as stored. A pass takes at most ``chunk_tokens`` of a
    prompt, all where that is None. ``eager_scores``: attention writes its scores to memory. ``together``: the prompts of a batch are
    one pass. ``tp`` ranks share each layer, ``pp`` stages follow each other, ``dp`` replicas stand side by side.
    """

    engine: EngineClass
    dtype: str | None = None
    chunk_tokens: int | None = None
    eager_scores: bool = False
    together: bool = False
    tp: int = 1
    pp: int = 1
    dp: int = 1
