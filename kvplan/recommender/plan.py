"""What a search may turn: one value a knob, whatever the engine calls it."""

from typing import NamedTuple

STORED, AUTO = "stored", "auto"
"""Weights as they lie, and a cache in the type that the engine chooses: 16 bits but for checkpoints that say otherwise."""


class Plan(NamedTuple):
    """The settings of one candidate.

    ``ctx_tokens`` a sequence may hold, ``sequences`` at once in each of ``dp`` replicas. ``weights`` names a form, ``cache`` an
    element type. ``step_tokens`` are computed at once. ``graphs`` False: none are captured. ``utilization`` is the share of a card
    that the engine may take. ``gpu_layers`` and ``cpu_moe``: layers on accelerators, and layers whose experts stay on the host; None
    is the engine's choice. ``saved_prompts_mib`` is the host's memory for prompts that are done. ``attention`` is how scores are
    computed and ``segments`` how PyTorch's allocator takes memory (``fixed``, ``expandable``), "" where an engine settles that itself.
    """

    ctx_tokens: int
    sequences: int
    weights: str = STORED
    cache: str = AUTO
    tp: int = 1
    pp: int = 1
    dp: int = 1
    step_tokens: int = 0
    graphs: bool = True
    utilization: float | None = None
    gpu_layers: int | None = None
    cpu_moe: int | None = None
    saved_prompts_mib: int | None = None
    attention: str = ""
    segments: str = ""

    @property
    def cards(self) -> int:
        """Accelerators that it takes."""
        return self.tp * self.pp * self.dp


KNOBS = Plan._fields


class Form(NamedTuple):
    """A way that weights may lie: ``bits`` an element, ``how`` people come by it where no such checkpoint was named.

    ``on_load``: the engine makes it of the checkpoint as it lies; ``named``: no flag says so, but what stands behind the model's name.
    """

    name: str
    bits: float
    on_load: bool = False
    how: str = ""
    named: bool = False

    @property
    def needs_checkpoint(self) -> bool:
        """Whether it must be found or made before the command runs."""
        return self.name != STORED and not self.on_load


class Risk(NamedTuple):
    """What a choice may cost in quality: ``weight`` orders, ``text`` says, ``source`` is the evidence."""

    weight: float
    level: str
    text: str
    source: str
