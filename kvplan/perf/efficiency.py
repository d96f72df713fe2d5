"""How much of a machine's peaks engines reach: a few constants a class of engines and kind of memory, with sources."""

from typing import NamedTuple


class Efficiency(NamedTuple):
    """Shares of the peaks, and seconds that no peak explains.

    ``mbu`` of bandwidth when weights and cache are read, ``mfu`` of the 16-bit arithmetic when prompts are multiplied, ``link`` of what
    joins two cards. Each doubling of the peak by a narrower type leaves ``narrow`` of that share. ``layer_s`` each layer of a pass takes,
    ``expert_layer_s`` more of it where it routes to experts, ``step_s`` each pass, ``request_s`` each request, ``link_s`` each all-reduce
    beside its bytes. ``unpack`` are the operations that turn a packed weight into a factor. Stages that follow each other work
    at the same time on ``in_flight`` passes at most, and gain ``overlap`` of what that could; ``pipelines``: also on parts of a
    decoding batch. ``spread`` is the factor by which a time may be off either way.
    """

    mbu: float
    mfu: float
    layer_s: float
    spread: float
    source: str
    expert_layer_s: float = 0.0
    step_s: float = 0.0
    request_s: float = 0.0
    narrow: float = 1.0
    unpack: float = 0.0
    link: float = 0.5
    link_s: float = 20e-6
    overlap: float = 0.5
    in_flight: float = 4.0
    pipelines: bool = True


COMPILED, SERVED, GGML, EAGER = "compiled", "served", "ggml", "eager"

SCORE_PASSES_BYTES = 20.0
"""Bytes of scores that eager attention moves for each head, query and key: float32 written, softmax read and written, read again."""

REREAD = 0.6
"""Of the query heads that share a key head, the share that eager attention reads it again for when it decodes."""

_TABLE = {
    (COMPILED, "hbm"): Efficiency(0.80, 0.70, 10e-6, 1.26, "", 60e-6, 1e-3, 4e-3, 0.7, 0, 0.4, 60e-6),
    (COMPILED, "gddr"): Efficiency(0.80, 0.70, 10e-6, 1.26, "", 60e-6, 1e-3, 4e-3, 0.7, 0, 0.4, 60e-6),
    (COMPILED, "unified"): Efficiency(0.80, 0.70, 10e-6, 1.26, "", 60e-6, 1e-3, 4e-3, 0.7, 0, 0.4, 60e-6),
    (SERVED, "hbm"): Efficiency(0.80, 0.60, 10e-6, 1.26, "", 80e-6, 0.5e-3, 4e-3, 0.7, 0, 0.5, 15e-6),
    (SERVED, "gddr"): Efficiency(0.83, 0.60, 10e-6, 1.26, "", 40e-6, 0.5e-3, 4e-3, 0.7, 0, 0.5, 30e-6),
    (SERVED, "unified"): Efficiency(0.80, 0.60, 10e-6, 1.26, "", 40e-6, 0.5e-3, 4e-3, 0.7, 0, 0.5, 30e-6),
    (GGML, "hbm"): Efficiency(0.90, 0.40, 150e-6, 1.26, "", 20e-6, 0.3e-3, 0, 1.0, 8.0, pipelines=False),
    (GGML, "gddr"): Efficiency(0.90, 0.40, 75e-6, 1.26, "", 20e-6, 0.3e-3, 0, 1.0, 8.0, pipelines=False),
    (GGML, "unified"): Efficiency(0.85, 0.45, 20e-6, 1.26, "", 20e-6, 0.3e-3, 0, 1.0, 16.0, pipelines=False),
    (EAGER, "hbm"): Efficiency(0.75, 0.50, 700e-6, 1.6, "", 700e-6, 2e-3),
    (EAGER, "gddr"): Efficiency(0.80, 0.50, 600e-6, 1.6, "", 600e-6, 2e-3),
    (EAGER, "unified"): Efficiency(0.60, 0.45, 600e-6, 1.6, "", 600e-6, 2e-3),
}


def efficiency(engine: str, memory: str) -> Efficiency:
    """The constants of a class of engines on a kind of memory."""
    return _TABLE[engine, memory]
