"""Rotary positions beyond those that a model was trained on."""

from typing import NamedTuple


class RopeScaling(NamedTuple):
    """How rotary positions are stretched: the ``kind`` as configs name it (``yarn``, ``llama3``, ``longrope``; ``default``: not
    at all), by which factor, from how many positions. ``applied``: the model's position limit already is what they reach."""

    kind: str
    factor: float
    original_ctx_tokens: int | None
    applied: bool = False
