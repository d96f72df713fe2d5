"""The variables of a script as it goes on, and the words that they make."""

import re
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice

from kvplan.checker import variables
from kvplan.checker.server import Word
from kvplan.checker.shell_pieces import ESCAPED_DOLLAR, Piece, Token

MAX_WORDS, MAX_CHARS = 5_000, 1_000_000  # of a command or an array
ASSIGNED = re.compile(r"([A-Za-z_]\w*)(\+?)=", re.ASCII)
_ARRAY = re.compile(r"\$\{([A-Za-z_]\w*)\[[@*]\]\}|\$\{?([@*])\}?", re.ASCII)


class Values:
    """Values by name. ``known`` are those that win over what the script says, ``env`` those that it finds."""

    def __init__(self, known: Mapping[str, str], env: Mapping[str, Word]) -> None:
        """``arguments`` are ``$1`` and so on, None where nobody calls the script."""
        self.arguments: tuple[Word, ...] | None = None
        self.values: dict[str, Word] = dict(env)
        self.exported = set(env)
        self._known_before = dict(known)
        self._arrays: dict[str, tuple[Word, ...]] = {}
        self._sometimes: set[str] = set()

    def environment(self) -> dict[str, Word]:
        """What a process gets."""
        return {name: self.values[name] for name in sorted(self.exported) if name in self.values}

    def all_of(self, said: Iterable[Token]) -> tuple[Word, ...]:
        """The words that tokens become, as many as MAX_WORDS and MAX_CHARS allow."""
        words: list[Word] = []
        n_chars = 0
        for word in islice((word for token in said for word in self.expanded(token)), MAX_WORDS):
            n_chars += len(word.text)
            if n_chars > MAX_CHARS:
                break
            words.append(word)
        return tuple(words)

    def looped(self, name: str, words: tuple[Word, ...]) -> None:
        """The variable of a loop over one value has it; over several, or over what a command prints, none."""
        one = len(words) == 1 and not variables.left_in(words[0].text) and "`" not in words[0].text
        if one and name not in self._known_before:
            self.values[name] = words[0]
        else:
            self.values.pop(name, None)

    def assigned(self, token: Token, assigned: re.Match[str]) -> Word | None:
        """The value behind ``NAME=``, None where what it is made from is not known."""
        pieces = list(token.pieces)
        pieces[0] = Piece("bare", pieces[0].text[assigned.end() :])
        text = self.text(tuple(pieces))
        if variables.left_in(text):
            return None
        return Word(text, token.line, token.column + assigned.end())

    def assign(self, name: str, value: Word | None, token: Token, *, adds: bool, sometimes: bool) -> None:
        """Give a variable its value; ``sometimes``: in a branch that may not be taken."""
        if token.items is not None:
            words = self.all_of(token.items)
            self._arrays[name] = (*self._arrays.get(name, ()), *words)[:MAX_WORDS] if adds else words
        elif name in self._known_before:
            return
        elif not sometimes:
            self._set(name, value, adds=adds)
            self._sometimes.discard(name)
        elif name not in self.values or self.values[name].text == "":
            self._set(name, value, adds=adds)
            self._sometimes.add(name)
        elif name in self._sometimes and (value is None or value.text != self.values[name].text):
            del self.values[name]  # it depends

    def _set(self, name: str, value: Word | None, *, adds: bool) -> None:
        if value is None:
            self.values.pop(name, None)
        else:
            before = self.values[name].text if adds and name in self.values else ""
            self.values[name] = value._replace(text=(before + value.text)[: variables.MAX_CHARS])

    def _known(self) -> dict[str, str]:
        known = {name: word.text for name, word in self.values.items()}
        for i, word in enumerate(self.arguments or (), 1):
            known[str(i)] = word.text
        return {**known, **self._known_before}

    def text(self, pieces: tuple[Piece, ...]) -> str:
        """The pieces in one, variables replaced."""
        return "".join(piece.text if piece.kind == "literal" else self._replaced(piece.text) for piece in pieces)

    def _replaced(self, text: str) -> str:
        if "$" in text:
            text = variables.expand(text, self._known()).text
        return text.replace(ESCAPED_DOLLAR, "$")

    def expanded(self, token: Token) -> Iterator[Word]:
        """The words that a token becomes: arrays and values with blanks are several, a variable that is empty is none."""
        place = Word("", token.line, token.column)
        if len(token.pieces) == 1 and token.pieces[0].kind != "literal":
            several = _ARRAY.fullmatch(token.pieces[0].text)
            if several and several[1] and several[1] not in self._arrays and several[1] in self.values:
                yield place._replace(text=self.values[several[1]].text)
                return
            if several and (several[1] in self._arrays or (several[2] and self.arguments is not None)):
                yield from self._arrays[several[1]] if several[1] else self.arguments or ()
                return
        if not any("$" in piece.text for piece in token.pieces):
            yield place._replace(text=self.text(token.pieces))
            return
        current, begun = "", False
        for piece in token.pieces:
            text = piece.text if piece.kind == "literal" else self._replaced(piece.text)
            if piece.kind != "bare" or text == piece.text:
                current, begun = current + text, begun or piece.kind != "bare" or text != ""
                continue
            parts = re.split(r"[ \t\n]+", text)
            for part in parts[:-1]:
                current += part
                if begun or current:
                    yield place._replace(text=current)
                current, begun = "", False
            current += parts[-1]
        if begun or current:
            yield place._replace(text=current)
