"""What words of a shell script are made of."""

import re
from typing import Literal, NamedTuple

_QUOTED = re.compile(r'[^"\\$`]+')
_NAME = re.compile(r"\$(?:[A-Za-z_]\w*|.)?", re.ASCII)
ESCAPED_DOLLAR = "\ue000"
"""Stands for ``\\$`` between reading a word and replacing its variables."""


class Piece(NamedTuple):
    """Part of a word: ``bare`` is split where a variable's value holds blanks, ``quoted`` is not, ``literal`` holds no variables."""

    kind: Literal["bare", "quoted", "literal"]
    text: str


class Token(NamedTuple):
    """A word, an operator (``pieces`` is empty), or a here-document, whose text is the one piece.

    ``items`` are the words of an array in ``NAME=(…)``, None for other words.
    """

    kind: Literal["word", "operator", "document"]
    line: int
    column: int
    pieces: tuple[Piece, ...] = ()
    operator: str = ""
    items: tuple["Token", ...] | None = None

    @property
    def raw(self) -> str:
        """The text with its variables, quotation marks off."""
        return "".join(piece.text for piece in self.pieces)

    @property
    def is_bare(self) -> bool:
        """Whether no part of it is quoted."""
        return all(piece.kind == "bare" for piece in self.pieces)


def double_quoted(text: str, start: int) -> tuple[int, str]:
    """Where double quotes end that begin at ``start``, and what they hold, escapes resolved.

    An escaped dollar sign is told by a sign that no script holds.
    """
    parts: list[str] = []
    i = start + 1
    while i < len(text) and text[i] != '"':
        if text[i] == "\\":
            following = text[i + 1 : i + 2]
            kept = following if following in ('"', "\\", "`") else "\\" + following
            parts.append({"\n": "", "$": ESCAPED_DOLLAR}.get(following, kept))
            i += 2
        elif text[i] in "$`":
            end = end_of_variable(text, i)
            parts.append(text[i:end])
            i = end
        else:
            plain = _QUOTED.match(text, i)
            assert plain is not None
            parts.append(plain[0])
            i = plain.end()
    return i, "".join(parts)


def end_of_variable(text: str, start: int) -> int:
    """The end of ``$NAME``, ``${…}``, ``$(…)``, ``<(…)`` or a command in backquotes."""
    if text[start] == "`":
        end = text.find("`", start + 1)
        return len(text) if end < 0 else end + 1
    opening = text[start + 1 : start + 2]
    if opening not in ("{", "("):
        found = _NAME.match(text, start)
        assert found is not None
        return start + 1 if found[0][1:] in ('"', "'", " ", "\t", "\\", ")", "}") else found.end()
    closing, depth, i = {"{": "}", "(": ")"}[opening], 0, start + 1
    while i < len(text):
        if text[i] == opening:
            depth += 1
        elif text[i] == closing:
            depth -= 1
            if depth == 0:
                return i + 1
        elif text[i] == "\\":
            i += 1
        i += 1
    return len(text)
