"""A figure of a running server, or of the estimate beside it."""

from typing import NamedTuple


class Measure(NamedTuple):
    """One figure, in words."""

    label: str
    value: float
    unit: str
