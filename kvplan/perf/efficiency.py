"""How much of a machine's peaks engines reach: a few constants a class of engines and kind of memory, with bounds and sources."""

from typing import NamedTuple

from kvplan.perf.values import Range


class Efficiency(NamedTuple):
    """Shares of the peaks, and seconds that no peak explains.

    ``mbu`` of bandwidth when weights and cache are read, ``mfu`` of the arithmetic when prompts are multiplied. ``layer_s`` each layer
    of a pass, ``expert_layer_s`` more of it where it routes to experts, ``step_s`` each pass. ``link_s`` each all-reduce beside its
    bytes. ``spread`` is the factor by which a time may be off either way.
    """

    mbu: float
    mfu: float
    layer_s: float
    expert_layer_s: float
    step_s: float
    link_s: float
    overlap: float
    pipelines: bool
    spread: float
    source: str


COMPILED, SERVED, GGML, EAGER = "compiled", "served", "ggml", "eager"
SCORE_PASSES_BYTES = 20.0
"""Bytes of scores that eager attention moves for each head, query and key: float32 written, softmax read and written, read again."""

_TABLE = {
    (COMPILED, "hbm"): Efficiency(0.80, 0.60, 60e-6, 60e-6, 1e-3, 20e-6, 0.5, True, 1.26, ""),
    (COMPILED, "gddr"): Efficiency(0.80, 0.55, 60e-6, 60e-6, 1e-3, 30e-6, 0.5, True, 1.26, ""),
    (COMPILED, "unified"): Efficiency(0.80, 0.55, 60e-6, 60e-6, 1e-3, 30e-6, 0.5, True, 1.26, ""),
    (SERVED, "hbm"): Efficiency(0.80, 0.55, 10e-6, 80e-6, 0.5e-3, 15e-6, 0.5, True, 1.26, ""),
    (SERVED, "gddr"): Efficiency(0.83, 0.55, 10e-6, 40e-6, 0.5e-3, 30e-6, 0.5, True, 1.26, ""),
    (SERVED, "unified"): Efficiency(0.80, 0.50, 10e-6, 40e-6, 0.5e-3, 30e-6, 0.5, True, 1.26, ""),
    (GGML, "hbm"): Efficiency(0.70, 0.40, 130e-6, 20e-6, 0.3e-3, 30e-6, 0.5, False, 1.26, ""),
    (GGML, "gddr"): Efficiency(0.90, 0.40, 80e-6, 20e-6, 0.3e-3, 30e-6, 0.5, False, 1.26, ""),
    (GGML, "unified"): Efficiency(0.60, 0.45, 20e-6, 20e-6, 0.3e-3, 30e-6, 0.5, False, 1.26, ""),
    (EAGER, "hbm"): Efficiency(0.75, 0.50, 700e-6, 700e-6, 2e-3, 30e-6, 0.0, False, 1.6, ""),
    (EAGER, "gddr"): Efficiency(0.80, 0.50, 600e-6, 600e-6, 2e-3, 30e-6, 0.0, False, 1.6, ""),
    (EAGER, "unified"): Efficiency(0.60, 0.45, 600e-6, 600e-6, 2e-3, 30e-6, 0.0, False, 1.6, ""),
}


def efficiency(engine: str, memory: str) -> Efficiency:
    """The constants of a class of engines on a kind of memory."""
    return _TABLE[engine, memory]
