"""Where two texts part, by what, and whether they come together again."""

import re
from collections.abc import Iterator
from typing import NamedTuple

from kvplan.prefixes.patterns import BY_FORM, Kind, Span, bare, covering

LEAST_RESUMED = 64
"""Signs that texts must have in common after a difference to count as the same again: about a block of 16 tokens."""

_LONG_LINE, _MOST_LINES, _MOST_PARTINGS = 20, 200, 8
_STEP = 256


class Parting(NamedTuple):
    """A piece in which two texts differ, and how many signs are alike after it; ``kind`` is None where its form tells nothing."""

    kind: Kind | None
    mine: Span
    theirs: Span
    resumed: int


def alike(mine: str, theirs: str, at: int = 0, there: int = 0) -> int:
    """Signs that two texts have in common from ``at`` and ``there`` on: by halves, because slices are compared far faster than signs."""
    low, high, step = 0, min(len(mine) - at, len(theirs) - there), _STEP
    while low < high:
        n = min(step, high - low)
        if mine[at + low : at + low + n] == theirs[there + low : there + low + n]:
            low, step = low + n, step * 2
        else:
            high, step = low + n - 1, max(1, n // 2)
    return low


def partings(mine: str, theirs: str) -> Iterator[Parting]:
    """Every piece in which the texts differ and after which they go on alike; none where they never come together again."""
    at = there = alike(mine, theirs)
    for _ in range(_MOST_PARTINGS):
        if at >= len(mine) or there >= len(theirs):
            return
        found = _parting(mine, theirs, at, there)
        if found is None:
            return
        yield found
        at, there = found.mine.end + found.resumed, found.theirs.end + found.resumed


def _parting(mine: str, theirs: str, at: int, there: int) -> Parting | None:
    for kind, pattern in BY_FORM:
        ours, others = covering(pattern, mine, at), covering(pattern, theirs, there)
        if ours and others:
            return Parting(kind, ours, others, alike(mine, theirs, ours.end, others.end))
    return _blank(mine, theirs, at, there) or _in_line(mine, theirs, at, there) or _over_lines(mine, theirs, at, there)


def _blank(mine: str, theirs: str, at: int, there: int) -> Parting | None:
    """White space of another form."""
    ours, others = _blanks(mine, at), _blanks(theirs, there)
    resumed = alike(mine, theirs, ours.end, others.end)
    if mine[ours.start : ours.end] == theirs[others.start : others.end]:
        return None
    if resumed >= LEAST_RESUMED or (resumed and bare(mine[ours.end :]) == bare(theirs[others.end :])):
        return Parting("whitespace", ours, others, resumed)
    return None


def _blanks(text: str, at: int) -> Span:
    start, end = at, at
    while start and text[start - 1].isspace():
        start -= 1
    while end < len(text) and text[end].isspace():
        end += 1
    return Span(start, end)


def _in_line(mine: str, theirs: str, at: int, there: int) -> Parting | None:
    """A word, else the rest of a line, after which texts are alike."""
    for pattern in (_WORD, _LINE):
        ours, others = _reach(pattern, mine, at), _reach(pattern, theirs, there)
        resumed = alike(mine, theirs, ours.end, others.end)
        if resumed >= LEAST_RESUMED:
            return Parting(None, ours, others, resumed)
    return None


_WORD, _LINE = re.compile(r"[^\s,.;:!?)\]}\"']*"), re.compile(r"[^\n]*")


def _reach(pattern: re.Pattern[str], text: str, at: int) -> Span:
    """From the beginning of the word that holds ``at`` to where the pattern ends."""
    start = at
    while start and not text[start - 1].isspace():
        start -= 1
    found = pattern.match(text, at)
    return Span(start, found.end() if found else at)


def _over_lines(mine: str, theirs: str, at: int, there: int) -> Parting | None:
    """Lines of one text until one that the other has too."""
    start = mine.rfind("\n", 0, at) + 1
    begin = theirs.rfind("\n", 0, there) + 1
    line_at = theirs.find("\n", there) + 1
    for _ in range(_MOST_LINES):
        if not line_at:
            return None
        end = theirs.find("\n", line_at)
        line = theirs[line_at : end if end >= 0 else len(theirs)]
        found = mine.find(line, at) if len(line) >= _LONG_LINE else -1
        if found >= 0 and (resumed := alike(mine, theirs, found, line_at)) >= LEAST_RESUMED:
            return Parting(None, Span(start, found), Span(begin, line_at), resumed)
        line_at = end + 1
    return None
