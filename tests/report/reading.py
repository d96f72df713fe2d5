"""Reads a page back: its elements, and what each number says of itself."""

from collections.abc import Mapping
from html.parser import HTMLParser
from typing import NamedTuple

VOID = frozenset({"meta", "link", "br", "hr", "img", "input"})


class Element(NamedTuple):
    tag: str
    attrs: dict[str, str]
    text: list[str]

    @property
    def words(self) -> str:
        return "".join(self.text)


class Page(HTMLParser):
    """Every element, in order; the text of each holds that of those inside."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.elements: list[Element] = []
        self._open: list[Element] = []
        self.feed(text)
        self.close()
        assert not self._open, [one.tag for one in self._open]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = Element(tag, {name: value or "" for name, value in attrs}, [])
        self.elements.append(found)
        if tag not in VOID:
            self._open.append(found)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append(Element(tag, {name: value or "" for name, value in attrs}, []))

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop().tag == tag

    def handle_data(self, data: str) -> None:
        for one in self._open:
            one.text.append(data)

    def all(self, tag: str) -> list[Element]:
        return [one for one in self.elements if one.tag == tag]

    def of(self, css_class: str) -> list[Element]:
        return [one for one in self.elements if css_class in one.attrs.get("class", "").split()]

    @property
    def numbers(self) -> list[Element]:
        return [one for one in self.elements if "data-path" in one.attrs]


def at(document: object, path: str) -> object:
    """What stands at a path of the JSON."""
    for step in path.split("."):
        if isinstance(document, list):
            document = document[int(step)]
        else:
            assert isinstance(document, Mapping)
            document = document[step]
    return document
