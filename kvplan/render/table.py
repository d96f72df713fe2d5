"""Plain tables: no boxes, two-space gutters, words to the left and numbers to the right."""

import csv
import io
from collections.abc import Iterable, Sequence


def aligned(rows: Sequence[tuple[str, ...]], *, left: frozenset[int] = frozenset({0})) -> list[str]:
    """``rows`` as lines of equal columns; the columns in ``left`` are words, the others numbers."""
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    return [
        "  ".join(
            cell.ljust(width) if i in left else cell.rjust(width) for i, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]


def middled(words: str, width: int) -> str:
    """``words`` in at most ``width`` signs: of longer ones the middle is left out."""
    if len(words) <= width:
        return words
    head = width // 2
    return f"{words[:head]}…{words[len(words) - (width - head - 1) :]}"


def csv_line(cells: Iterable[object]) -> str:
    """One line of comma-separated values; None is empty."""
    written = io.StringIO()
    csv.writer(written, lineterminator="\n").writerow(cells)
    return written.getvalue()
