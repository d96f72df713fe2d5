"""A value of a YAML document and where it begins."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Literal

from kvplan.checker.server import Word

_TRUE, _FALSE = ("true", "yes", "on"), ("false", "no", "off")
_NULLS = ("", "~", "null", "Null", "NULL")


@dataclass(frozen=True, slots=True)  # mypy 2.4 crashes on a NamedTuple that holds itself
class Node:
    """A value of a document and where it begins; what is not there is ``MISSING``, whose values are all missing, too.

    ``kind`` says which of the other fields holds its content. ``plain`` scalars stand without quotes; a ``block`` scalar's text begins
    on the line below, at ``text_column``.
    """

    kind: Literal["scalar", "map", "list", "missing"]
    line: int = 1
    column: int = 1
    said: str = ""
    pairs: tuple[tuple["Node", "Node"], ...] = ()
    items: tuple["Node", ...] = ()
    style: Literal["plain", "quoted", "literal", "folded"] = "plain"
    text_column: int = 1

    def __bool__(self) -> bool:
        """Whether it is there; null counts as not said."""
        return self.kind in ("map", "list") or self.text is not None

    def get(self, *path: str) -> "Node":
        """The value under these keys, one inside the other; of a key that stands twice, the last one's."""
        node = self
        for key in path:
            node = next((value for name, value in reversed(node.pairs) if name.said == key), MISSING)
        return node

    @property
    def text(self) -> str | None:
        """The text of a scalar as it is written, None for null, maps and lists."""
        if self.kind != "scalar" or (self.style == "plain" and self.said in _NULLS):
            return None
        return self.said

    @property
    def word(self) -> Word | None:
        """The text of a scalar and where it begins; of a block that is below its indicator."""
        text = self.text
        if text is None:
            return None
        if self.style in ("literal", "folded"):
            return Word(text, self.line + 1, self.text_column)
        return Word(text, self.line, self.column)

    @property
    def number(self) -> int | None:
        """The whole number that a scalar is, quoted or not."""
        text = (self.text or "").strip().replace("_", "")
        return int(text) if re.fullmatch(r"[+-]?[0-9]{1,18}", text) else None

    @property
    def truth(self) -> bool | None:
        """Whether a scalar says yes or no, quoted or not; None for anything else."""
        text = (self.text or "").strip().lower()
        return True if text in _TRUE else False if text in _FALSE else None

    def words(self) -> tuple[Word, ...]:
        """The scalars of a list."""
        return tuple(word for item in self.items if (word := item.word) is not None)

    def over(self, base: "Node") -> "Node":
        """A map with what ``base`` says besides."""
        said = {name.said for name, _ in self.pairs}
        return replace(self, pairs=(*(pair for pair in base.pairs if pair[0].said not in said), *self.pairs))

    def named(self) -> Iterator[tuple[Word, "Node"]]:
        """Keys and values of a map in their order; of a key that stands twice, the last."""
        last = {name.said: (name, value) for name, value in self.pairs if name.kind == "scalar"}
        for name, value in last.values():
            yield Word(name.said, name.line, name.column), value


MISSING = Node("missing")
