"""Variables in what people write: replaced where their value is known, left as they stand where it is not. Nothing is executed."""

import re
from collections.abc import Mapping
from typing import Literal, NamedTuple

Style = Literal["shell", "compose", "kubernetes", "batch"]
"""``shell``: $X, ${X}, ${X:-default}. ``compose``: the same, and $$ is a dollar sign. ``kubernetes``: $(X), and $$(X) is text.
``batch``: %X%."""

MAX_CHARS = 100_000  # what a text may grow to
_NAME = re.compile(r"[A-Za-z_]\w*", re.ASCII)
_KUBERNETES = re.compile(r"\$\$(?=\()|\$\(([A-Za-z_.-][\w.-]*)\)", re.ASCII)
_BATCH = re.compile(r"%([A-Za-z_]\w*)(?::[^%\n]*)?%|%~?([0-9])", re.ASCII)
_LEFT = re.compile(r"\$\{([A-Za-z_]\w*)|\$\(([A-Za-z_]\w*)\)|\$([A-Za-z_]\w*|[0-9@*])|%([A-Za-z_]\w*)%|\{\{\s*[-.]*([\w.]*)", re.ASCII)
_AMBIENT = frozenset(("HOME", "PWD", "USER", "HOSTNAME", "USERPROFILE", "CD", "TMPDIR", "UID"))
"""Where something lies on the machine that runs it: nobody has to say these."""


_NAMED = re.compile(r"\$?\{?([A-Za-z_]\w*)\}?", re.ASCII)
_TERM = re.compile(r"\s*([+-]?)\s*(\d{1,12})\s*((?:[*/]\s*\d{1,12}\s*)*)", re.ASCII)


class Expanded(NamedTuple):
    """The text with what is known in its place; ``unresolved`` are the names of what is not."""

    text: str
    unresolved: tuple[str, ...] = ()


def expand(text: str, known: Mapping[str, str], style: Style = "shell") -> Expanded:
    """``text`` with the variables that ``known`` gives a value; defaults written with a variable are its value where nobody said one."""
    if style in ("kubernetes", "batch"):
        if ("$(" if style == "kubernetes" else "%") not in text:
            return Expanded(text)
        return _by_pattern(text, known, _KUBERNETES if style == "kubernetes" else _BATCH)
    if "$" not in text:
        return Expanded(text)
    reader = _Reader(text, known, doubled=style == "compose")
    return Expanded(reader.read("")[:MAX_CHARS], tuple(dict.fromkeys(reader.unresolved)))


def left_in(text: str) -> tuple[str, ...]:
    """Names of the variables that still stand in a text, in any style, and of templates; without those that every machine has."""
    if "$" not in text and "%" not in text and "{{" not in text:
        return ()
    names = (next((group for group in found.groups() if group), "") for found in _LEFT.finditer(text))
    left = [name.rpartition(".")[2] or "template" for name in names]
    if "$(" in text or "`" in text:
        left += ["command" for found in re.finditer(r"\$\((?![A-Za-z_]\w*\))", text)]
    return tuple(name for name in dict.fromkeys(left) if name not in _AMBIENT)


def _by_pattern(text: str, known: Mapping[str, str], pattern: re.Pattern[str]) -> Expanded:
    unresolved: dict[str, None] = {}

    def value(found: re.Match[str]) -> str:
        name = next((group for group in found.groups() if group is not None), None)
        if name is None:
            return "$"
        if name not in known:
            unresolved[name] = None
        return known.get(name, found[0])

    return Expanded(pattern.sub(value, text)[:MAX_CHARS], tuple(unresolved))


def _sum(text: str) -> int | None:
    """The value of sums and products of whole numbers, from left to right; None for any other text."""
    total, at = 0, 0
    while at < len(text.rstrip()):
        term = _TERM.match(text, at)
        if term is None or (at and not term[1]) or at > 200:
            return None
        value = int(term[2])
        for operator, number in re.findall(r"([*/])\s*(\d+)", term[3]):
            if operator == "/" and int(number) == 0:
                return None
            value = value * int(number) if operator == "*" else value // int(number)
        total += -value if term[1] == "-" else value
        at = term.end()
    return total if text.strip() else None


def _unquoted(word: str) -> str:
    """A default without the quotation marks around it, which a shell takes off."""
    return word[1:-1] if len(word) > 1 and word[0] == word[-1] and word[0] in "\"'" else word


class _Reader:
    """``${A:-${B:-c}}`` nests: read from left to right, a level for each brace."""

    def __init__(self, text: str, known: Mapping[str, str], *, doubled: bool) -> None:
        self._text, self._known, self._doubled = text, known, doubled
        self._at = 0
        self._depth = 0
        self.unresolved: list[str] = []

    def read(self, until: str) -> str:
        """Up to a character of ``until`` or the end, variables replaced."""
        parts: list[str] = []
        while self._at < len(self._text):
            char = self._text[self._at]
            if char == until:
                break
            if char == "$":
                parts.append(self._dollar())
            else:
                parts.append(char)
                self._at += 1
        return "".join(parts)

    def _dollar(self) -> str:
        text, start = self._text, self._at
        following = text[start + 1 : start + 2]
        if following == "$" and self._doubled:
            self._at += 2
            return "$"
        if following == "{" and self._depth < 20:
            return self._braced(start)
        if text.startswith("((", start + 1):
            return self._computed(start)
        name = _NAME.match(text, start + 1)
        if name is None and not (following.isdecimal() or following in ("@", "*")):
            self._at += 1
            return "$"
        said = name[0] if name else following
        self._at = start + 1 + len(said)
        return self._value(said, text[start : self._at])

    def _computed(self, start: int) -> str:
        """``$((A * $B))``: sums and products of whole numbers; anything else stays as it stands."""
        end = self._text.find("))", start)
        inner = self._text[start + 3 : end] if end > 0 else ""
        numbers = _NAMED.sub(lambda found: self._known.get(found[1], found[0]), inner)
        value = _sum(numbers)
        if value is None:
            self._at += 1
            return "$"
        self._at = end + 2
        return str(value)

    def _value(self, name: str, as_written: str) -> str:
        if name not in self._known:
            self.unresolved.append(name)
        return self._known.get(name, as_written)

    def _braced(self, start: int) -> str:
        """``${NAME}``, ``${NAME:-default}``, ``${NAME:+instead}``, ``${NAME:?complaint}``; anything else stays as it stands."""
        self._at = start + 2
        name = _NAME.match(self._text, self._at) or re.compile(r"[0-9@*]").match(self._text, self._at)
        if name is None:
            return self._rest(start)
        self._at = name.end()
        operator = re.compile(r":?[-+?=]|\}").match(self._text, self._at)
        if operator is None:
            return self._rest(start)
        self._at = operator.end()
        if operator[0] == "}":
            return self._value(name[0], self._text[start : self._at])
        return self._with_operator(start, name[0], operator[0])

    def _with_operator(self, start: int, name: str, operator: str) -> str:
        self._depth += 1
        before = len(self.unresolved)
        word = self.read("}")
        self._depth -= 1
        self._at += 1
        value = self._known.get(name)
        is_set = value is not None and (value != "" or not operator.startswith(":"))
        kind = operator[-1]
        if kind in "-=" and not is_set:
            return word if self._doubled else _unquoted(word)
        if kind == "+" and is_set:
            return word
        del self.unresolved[before:]
        if kind == "+":
            return ""
        if is_set:
            return value or ""
        self.unresolved.append(name)
        return self._text[start : self._at]

    def _rest(self, start: int) -> str:
        """What can't be followed, up to its brace."""
        depth, i = 0, start + 1
        while i < len(self._text):
            depth += {"{": 1, "}": -1}.get(self._text[i], 0)
            i += 1
            if depth == 0:
                break
        self._at = i
        found = _NAME.search(self._text, start + 2, i)
        if found:
            self.unresolved.append(found[0])
        return self._text[start:i]
