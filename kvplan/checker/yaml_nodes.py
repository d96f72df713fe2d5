"""YAML as text with places: documents one by one, nothing constructed, so that a broken or templated one loses only itself."""

import re
from collections.abc import Iterator
from functools import lru_cache

import yaml

from kvplan.checker.server import Text, Unreadable
from kvplan.checker.yaml_node import MISSING as MISSING
from kvplan.checker.yaml_node import Node as Node

MAX_NODES = 200_000  # aliases expanded; the largest real manifests have some ten thousand
MAX_DEPTH = 100
_SEPARATOR = re.compile(r"^---(?=\s|$).*$|^\.\.\.[ \t]*$", re.MULTILINE)
_CONFLICT = re.compile(r"^(<{7}|>{7})( .*)?$|^={7}$", re.MULTILINE)


def documents(file: Text) -> Iterator[Node | Unreadable]:
    """Each document of a file that holds something, or why it can't be read."""
    yield from within(file.path, file.text, 1)


def within(path: str, text: str, first_line: int) -> Iterator[Node | Unreadable]:
    """The documents of YAML that stands inside a file from ``first_line`` on."""
    for found in _read(text, first_line):
        yield found if isinstance(found, Node) else Unreadable(path, *found)


@lru_cache(maxsize=4)
def _read(text: str, first_line: int) -> tuple[Node | tuple[int, str], ...]:
    """Several formats may ask for one file."""
    lines = text.removeprefix("\ufeff")
    starts = [0, *(found.start() for found in _SEPARATOR.finditer(lines))]
    found = []
    for start, end in zip(starts, [*starts[1:], len(lines)], strict=True):
        chunk = lines[start:end]
        if chunk.startswith("..."):
            chunk = "   " + chunk[3:]
        bare = re.sub(r"^%.*$", "", chunk, flags=re.MULTILINE)
        if not re.sub(r"^\s*#.*$|^---[ \t]*(#.*)?$", "", bare, flags=re.MULTILINE).strip():
            continue
        found.append(_document(bare, first_line + lines.count("\n", 0, start)))
    return tuple(node for node in found if node != MISSING)


def _document(text: str, first_line: int) -> Node | tuple[int, str]:
    try:
        return _Builder(text, first_line).build()
    except yaml.MarkedYAMLError as problem:
        conflict = _CONFLICT.search(text)
        if conflict:
            return first_line + text.count("\n", 0, conflict.start()), "Git's conflict markers stand in it"
        mark = problem.problem_mark or problem.context_mark
        return first_line + (mark.line if mark else 0), f"invalid YAML: {problem.problem or problem.context}"
    except (yaml.YAMLError, UnicodeError) as problem:
        return first_line, f"invalid YAML: {str(problem).splitlines()[0]}"
    except _TooMuch as problem:
        return first_line, str(problem)


class _TooMuch(Exception):
    pass


class _Open:
    """A map or list whose end was not read yet."""

    def __init__(self, event: "yaml.Event", anchor: str | None) -> None:
        self.is_map = isinstance(event, yaml.MappingStartEvent)
        self.event, self.anchor = event, anchor
        self.children: list[Node] = []


class _Builder:
    """Events to nodes, without recursion: documents may nest as deep as they like."""

    def __init__(self, text: str, first_line: int) -> None:
        self._text, self._first = text, first_line
        self._lines: list[str] | None = None
        self._anchors: dict[str, Node] = {}
        self._sizes: dict[int, int] = {}
        self._open: list[_Open] = []
        self._root = MISSING

    def build(self) -> Node:
        loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # both are safe
        for event in yaml.parse(self._text, Loader=loader):
            if isinstance(event, yaml.ScalarEvent):
                self._add(self._scalar(event), event.anchor)
            elif isinstance(event, yaml.MappingStartEvent | yaml.SequenceStartEvent):
                if len(self._open) >= MAX_DEPTH:
                    raise _TooMuch(f"nested more than {MAX_DEPTH} deep")
                self._open.append(_Open(event, event.anchor))
            elif isinstance(event, yaml.MappingEndEvent | yaml.SequenceEndEvent):
                self._close()
            elif isinstance(event, yaml.AliasEvent):
                self._add(self._anchors.get(event.anchor or "", MISSING), None)
        return self._root

    def _add(self, node: Node, anchor: str | None) -> None:
        if anchor:
            self._anchors[anchor] = node
        if self._open:
            self._open[-1].children.append(node)
        else:
            self._root = node

    def _close(self) -> None:
        closed = self._open.pop()
        children = closed.children
        size = 1 + sum(self._sizes.get(id(child), 1) for child in children)
        if size > MAX_NODES:
            raise _TooMuch(f"more than {MAX_NODES:,} values, its aliases expanded")
        line, column = self._place(closed.event)
        if closed.is_map:
            node = Node("map", line, column, pairs=_merged(list(zip(children[::2], children[1::2], strict=False))))
        else:
            node = Node("list", line, column, items=tuple(children))
        self._sizes[id(node)] = size
        self._add(node, closed.anchor)

    def _scalar(self, event: "yaml.ScalarEvent") -> Node:
        line, column = self._place(event)
        if event.style in ("|", ">"):
            return Node(
                "scalar",
                line,
                column,
                event.value,
                style="literal" if event.style == "|" else "folded",
                text_column=self._indent(line - self._first + 1),
            )
        return Node("scalar", line, column, event.value, style="quoted" if event.style else "plain")

    def _place(self, event: "yaml.Event") -> tuple[int, int]:
        mark = event.start_mark
        return (self._first + mark.line, mark.column + 1) if mark else (self._first, 1)

    def _indent(self, index: int) -> int:
        """The column at which the text below a block's indicator begins."""
        if self._lines is None:
            self._lines = self._text.split("\n")
        below = next((line for line in self._lines[index:] if line.strip()), "")
        return len(below) - len(below.lstrip()) + 1


def _merged(pairs: list[tuple[Node, Node]]) -> tuple[tuple[Node, Node], ...]:
    """``<<: *base`` gives what the map does not say itself."""
    said = {name.said for name, _ in pairs}
    merged: list[tuple[Node, Node]] = []
    for name, value in pairs:
        if name.said == "<<" and name.style == "plain":
            for base in (value, *value.items):
                merged += [pair for pair in base.pairs if pair[0].said not in said]
    return (*merged, *((name, value) for name, value in pairs if name.said != "<<")) if merged else tuple(pairs)
