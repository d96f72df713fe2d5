"""What a shell script would run: its commands one by one, with the variables that are known there. Nothing is executed.

Followed are assignments, exports, arrays, functions with their arguments, here-documents and ``bash -c``. Of branches all are taken:
a variable that they give different values has none.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from kvplan.checker.mentions import STARTS
from kvplan.checker.server import Word
from kvplan.checker.shell_pieces import Token
from kvplan.checker.shell_tokens import tokens
from kvplan.checker.shell_values import ASSIGNED, Values
from kvplan.checker.shell_wrapping import inner_script

MAX_COMMANDS = 20_000
_MAX_DEPTH = 8
_OPENING, _CLOSING = ("if", "while", "until", "for", "case", "select"), ("fi", "done", "esac")
_AROUND = ("if", "then", "else", "elif", "do", "while", "until", "{", "}", "!", "fi", "done", "esac")
_DECLARES = ("export", "declare", "typeset", "local", "readonly", "setenv")
_ENDS = ("\n", ";", "&", "&&", "|", "||", "|&", ";;", ";&", ";;&", "(", ")")


class Run(NamedTuple):
    """A command: its words, and the variables that its process gets from the script or from before its name.

    ``in_background``: the next one does not wait for it. ``sometimes``: it stands in a branch, a loop, or a function that nobody calls.
    """

    words: tuple[Word, ...]
    env: Mapping[str, Word]
    in_background: bool = False
    sometimes: bool = False


def commands(
    script: Word, known: Mapping[str, str], arguments: Sequence[Word] | None = None, env: Mapping[str, Word] = {}
) -> Iterator[Run]:
    """The commands of a script in their order. ``known`` are variables that win over what the script says; ``arguments`` are ``$@``.

    Lines are those of the file that holds the script; its columns are right where each of its lines begins at the script's column.
    """
    reader = _Script(known, env)
    reader.called_with(None if arguments is None else tuple(arguments))
    yield from reader.run(list(tokens(script.text, script.line, script.column)))
    yield from reader.uncalled()


class _Script:
    def __init__(self, known: Mapping[str, str], env: Mapping[str, Word]) -> None:
        self._values = Values(known, env)
        self._functions: dict[str, list[Token]] = {}
        self._called: set[str] = set()
        self._branches = self._depth = self._count = 0
        self._is_uncalled = False

    def called_with(self, arguments: tuple[Word, ...] | None) -> None:
        self._values.arguments = arguments

    def run(self, script: list[Token]) -> Iterator[Run]:
        i = 0
        while i < len(script):
            defined = self._definition(script, i)
            if defined:
                i = defined
                continue
            end = next((j for j in range(i, len(script)) if script[j].operator in _ENDS), len(script))
            yield from self._command(script[i:end], script[end].operator if end < len(script) else "")
            i = end + 1

    def uncalled(self) -> Iterator[Run]:
        """What functions would do that nothing here calls."""
        self._values.arguments = None
        self._is_uncalled = True
        for name in [name for name in self._functions if name not in self._called]:
            yield from self.run(self._functions[name])

    def _definition(self, script: list[Token], i: int) -> int:
        """The place behind ``name() { … }``, 0 where no function begins here."""
        word = script[i].raw if script[i].kind == "word" else ""
        at = i + 1
        if word == "function" and at < len(script):
            word, at = script[at].raw, at + 1
        parens = [token.operator for token in script[at : at + 2]] == ["(", ")"]
        if not word or not (parens or script[i].raw == "function"):
            return 0
        at += 2 if parens else 0
        while at < len(script) and script[at].operator == "\n":
            at += 1
        if at >= len(script) or script[at].raw != "{" or not script[at].is_bare:
            return 0
        depth, end = 0, at
        for end in range(at, len(script)):
            if script[end].is_bare:
                depth += {"{": 1, "}": -1}.get(script[end].raw, 0) if script[end].kind == "word" else 0
            if depth == 0:
                break
        self._functions[word] = script[at + 1 : end]
        return end + 1

    def _command(self, said: list[Token], ends: str) -> Iterator[Run]:
        documents = [token for token in said if token.kind == "document"]
        said = _without_redirections([token for token in said if token.kind != "document"])
        while said and said[0].is_bare and said[0].raw in _AROUND and said[0].items is None:
            word = said.pop(0).raw
            self._branches += 1 if word in _OPENING else -1 if word in _CLOSING else 0
        self._count += 1
        if said and said[0].is_bare and said[0].raw in _OPENING:  # for and case have words of their own
            self._branches += 1
            self._loop(said)
            said = []
        if self._count <= MAX_COMMANDS and said:
            yield from self._simple(said, ends)
        for document in documents:
            if STARTS.search(document.raw):
                yield from self._nested(self._values.text(document.pieces), document.line, document.column, self._values.arguments)

    def _loop(self, said: list[Token]) -> None:
        if said[0].raw == "for" and len(said) > 2:
            self._values.looped(said[1].raw, self._values.all_of(said[3:]))

    def _simple(self, said: list[Token], ends: str) -> Iterator[Run]:
        own = self._own(said)
        words = self._values.all_of(said)
        if not words:
            return
        first = words[0].text
        if first in _DECLARES:
            self._declare(said[1:], first)
        elif first == "set" and len(words) > 1 and words[1].text == "--":
            self._values.arguments = words[2:]
        elif first in self._functions and self._depth < _MAX_DEPTH:
            yield from self._call(first, words[1:])
        elif first == "unset":
            for word in words[1:]:
                self._values.values.pop(word.text, None)
        else:
            yield from self._started(words, own, ends)

    def _own(self, said: list[Token]) -> dict[str, Word]:
        """Take the assignments off: those before a command are its own, those alone are the script's."""
        own: dict[str, Word] = {}
        while said and (assigned := ASSIGNED.match(said[0].raw)) and said[0].pieces and said[0].pieces[0].kind == "bare":
            token = said.pop(0)
            name, value = assigned[1], self._values.assigned(token, assigned)
            if not said:
                self._values.assign(name, value, token, adds=bool(assigned[2]), sometimes=self._branches > 0)
            elif value is not None:
                own[name] = value
        return own

    def _started(self, words: tuple[Word, ...], own: dict[str, Word], ends: str) -> Iterator[Run]:
        """A program; of a shell with a text that is a script, what that runs."""
        inner = inner_script(words)
        if inner is not None and self._depth < _MAX_DEPTH:
            text, arguments = inner
            yield from self._nested(text.text, text.line, text.column, arguments)
            return
        yield Run(words, {**self._values.environment(), **own}, ends == "&", self._branches > 0 or self._is_uncalled)

    def _nested(self, text: str, line: int, column: int, arguments: tuple[Word, ...] | None) -> Iterator[Run]:
        if self._depth >= _MAX_DEPTH:
            return
        before, self._values.arguments = self._values.arguments, arguments
        self._depth += 1
        yield from self.run(list(tokens(text, line, column)))
        self._depth -= 1
        self._values.arguments = before

    def _call(self, name: str, arguments: tuple[Word, ...]) -> Iterator[Run]:
        self._called.add(name)
        before, self._values.arguments = self._values.arguments, arguments
        self._depth += 1
        yield from self.run(self._functions[name])
        self._depth -= 1
        self._values.arguments = before

    def _declare(self, said: list[Token], how: str) -> None:
        for token in said:
            assigned = ASSIGNED.match(token.raw)
            name = assigned[1] if assigned else token.raw
            if assigned:
                self._values.assign(
                    name, self._values.assigned(token, assigned), token, adds=bool(assigned[2]), sometimes=self._branches > 0
                )
            if how == "export":
                self._values.exported.add(name)


def _without_redirections(said: list[Token]) -> list[Token]:
    kept, skips = [], False
    for token in said:
        if token.kind == "operator":
            skips = token.operator == ">"
        elif skips:
            skips = False
        else:
            kept.append(token)
    return kept
