"""Plain tables: no boxes, two-space gutters, words to the left and numbers to the right."""

from collections.abc import Sequence


def aligned(rows: Sequence[tuple[str, ...]], *, left: frozenset[int] = frozenset({0})) -> list[str]:
    """``rows`` as lines of equal columns; the columns in ``left`` are words, the others numbers."""
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    return [
        "  ".join(
            cell.ljust(width) if i in left else cell.rjust(width) for i, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]
