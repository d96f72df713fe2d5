"""From an engine's format string to a regular expression that finds its line and takes it apart."""

import re
from functools import cache
from typing import NamedTuple

from kvplan.core.logs import Shape

_HOLE = re.compile(r"\{([^{}|]*)(?:\|([^{}]*))?\}")
_NUMBER = r"(-?[\d,]*\.?\d+)"
_ANYTHING = r"[^\n]{0,200}?"  # bounded, so that no line takes longer than its length times that
_KINDS = {
    "size": _NUMBER + r"\s*([KMGT]i?B|bytes|B)\b",
    "size/": _NUMBER,
    "int": r"(\d[\d,]*)",
    "float": r"(\d*\.?\d+)",
    "word": r"([^\s,;()]+)",
    "name": r"([^,\n]+)",
    "rest": r"(.*)",
    "path": r"(\w+)",
    "quoted": r"'?([^'\n]+)",
    'quoted"': r'([^"\n]+)',
    "version": r"v?(\d[\w.+-]*)",
    "buffer": r"((?!KV\b|RS\b|model\b|compute\b|output\b|input\b)[A-Z][\w.\[\]:-]*)",
    "smi": r"((?:GeForce|Thor|Orin|Jetson|RTX|GTX|TITAN|Tesla|Quadro|[AHLBTV]\d{1,3}|G[BH]\d{1,3})[\w .-]*?)"
    r"(?=\s*(?:[|\n]|\s{2}|On\b|Off\b|$))",
}
_UNITLESS = ("number", "share")
DROPPED = b"0123456789abcdef- \t"
"""What signatures leave out: figures, ids and blanks, so that lines of one format have one signature."""


WORD = re.compile(rb"[A-Za-z_]{3,}")
WORD_BYTES = tuple((chr(byte).isalpha() and byte < 128) or byte == ord("_") for byte in range(256))
APART = bytes(byte if WORD_BYTES[byte] else 32 for byte in range(256))
"""A table that leaves words alone, blanks between them."""


class Hole(NamedTuple):
    """A place of a template: a figure with its unit (None where the text has one behind it), or a setting."""

    name: str
    unit: str | None
    is_setting: bool
    n_groups: int
    is_count: bool = False
    shares_unit: bool = False


class Template(NamedTuple):
    """A shape ready to be looked for: in lines with its ``needle`` in their signature, and its ``word`` where it has one."""

    shape: Shape
    engine: str | None
    needle: bytes
    word: bytes | None
    pattern: re.Pattern[str]
    holes: tuple[Hole, ...]


@cache
def compiled(shape: Shape, engine: str | None) -> Template:
    """The template of ``shape``; every line that matches has its ``needle`` in its signature."""
    parts, holes, literals, at = [], [], [], 0
    for found in _HOLE.finditer(shape.text):
        literals.append(shape.text[at : found.start()])
        parts.append(_literal(literals[-1]))
        at = found.end()
        name, kind = found[1], found[2]
        if kind is None:
            parts.append(r"\s*$" if name == "$" else _ANYTHING)
            continue
        expression = f"([^{re.escape(kind[5:])}\\n]+)" if kind.startswith("until") else _KINDS.get(kind, _NUMBER)
        parts.append(expression)
        unit = None if kind in ("size", "size/", *_UNITLESS) else kind
        holes.append(
            Hole(name.lstrip("="), unit, name.startswith("="), 2 if kind == "size" else 1, kind in ("int", "float"), kind == "size/")
        )
    literals.append(shape.text[at:])
    parts.append(_literal(literals[-1]))
    needle = max((signature(text.encode()) for text in literals), key=len)
    begin = r"(?<!\w)" if shape.text[0].isalnum() or shape.text[0] in "{_" else ""
    end = r"(?!\w)" if shape.text[-1].isalnum() else ""
    return Template(
        shape,
        engine,
        needle,
        _word(literals[:-1] if shape.text.endswith("{$}") else literals),
        re.compile(begin + "".join(parts) + end),
        tuple(holes),
    )


def _word(literals: list[str]) -> bytes | None:
    """The longest word that stands alone in each line that matches: nothing of what fills a hole may touch it."""
    found = [
        word[0]
        for at, text in enumerate(literals)
        for word in WORD.finditer(text.encode())
        if (word.start() > 0 or at == 0) and (word.end() < len(text.encode()) or at == len(literals) - 1)
    ]
    return max(found, key=len) if found else None


def signature(line: bytes) -> bytes:
    """``line`` without what differs between lines of one format."""
    return line.translate(None, DROPPED)


def _literal(text: str) -> str:
    """Blanks are as wide as each version likes."""
    return r"\s*".join(re.escape(word) for word in re.split(r"\s+", text))
