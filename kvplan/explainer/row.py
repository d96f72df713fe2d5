"""A line of the reconciliation."""

from typing import NamedTuple


class Row(NamedTuple):
    """A term: what the log prints, what the estimate says (None where it is not known), and why they differ where that is known."""

    term: str
    printed_bytes: int | None
    estimated_bytes: int | None
    low_bytes: int | None = None
    high_bytes: int | None = None
    why: str = ""
