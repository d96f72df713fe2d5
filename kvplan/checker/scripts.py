"""What a shell script would run: its commands one by one, with the variables that are known there. Nothing is executed.

Followed are assignments, exports, arrays, functions with their arguments, here-documents and ``bash -c``. Of branches all are taken:
a variable that they give different values has none.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from kvplan.checker import variables
from kvplan.checker.mentions import STARTS
from kvplan.checker.program import base
from kvplan.checker.server import Word
from kvplan.checker.shell_tokens import ESCAPED_DOLLAR, Piece, Token, tokens

MAX_COMMANDS = 20_000
_MAX_DEPTH = 8
_ASSIGNED = re.compile(r"([A-Za-z_]\w*)(\+?)=", re.ASCII)
_ARRAY = re.compile(r"\$\{([A-Za-z_]\w*)\[[@*]\]\}|\$\{?([@*])\}?", re.ASCII)
_OPENING, _CLOSING = ("if", "while", "until", "for", "case", "select"), ("fi", "done", "esac")
_AROUND = ("if", "then", "else", "elif", "do", "while", "until", "{", "}", "!", "fi", "done", "esac")
_DECLARES = ("export", "declare", "typeset", "local", "readonly", "setenv")
_SHELLS = ("bash", "sh", "zsh", "dash", "ash", "ksh")
_ENDS = ("\n", ";", "&", "&&", "|", "||", "|&", ";;", ";&", ";;&", "(", ")")


class Run(NamedTuple):
    """A command: its words, the variables that its process gets from the script or from before its name, whether the next one waits."""

    words: tuple[Word, ...]
    env: Mapping[str, Word]
    in_background: bool = False


def commands(
    script: Word, known: Mapping[str, str], arguments: Sequence[Word] | None = None, env: Mapping[str, Word] = {}
) -> Iterator[Run]:
    """The commands of a script in their order. ``known`` are variables that win over what the script says; ``arguments`` are ``$@``.

    Lines are those of the file that holds the script; its columns are right where each of its lines begins at the script's column.
    """
    reader = _Script(known, env)
    reader.arguments = None if arguments is None else tuple(arguments)
    yield from reader.run(list(tokens(script.text, script.line, script.column)))
    yield from reader.uncalled()


class _Script:
    def __init__(self, known: Mapping[str, str], env: Mapping[str, Word]) -> None:
        self.arguments: tuple[Word, ...] | None = None
        self._said = dict(known)
        self._values: dict[str, Word] = dict(env)
        self._exported = set(env)
        self._arrays: dict[str, tuple[Word, ...]] = {}
        self._sometimes: set[str] = set()
        self._functions: dict[str, list[Token]] = {}
        self._called: set[str] = set()
        self._branches = self._depth = self._count = 0

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
        self.arguments = None
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
                yield from self._nested(self._text(document.pieces), document.line, document.column, self.arguments)

    def _loop(self, said: list[Token]) -> None:
        """The variable of a loop over one value has it; over several, none."""
        if said[0].raw == "for" and len(said) > 2:
            name = said[1].raw
            values = [word for token in said[3:] for word in self._expanded(token)]
            if len(values) == 1 and name not in self._said:
                self._values[name] = values[0]
            else:
                self._values.pop(name, None)

    def _simple(self, said: list[Token], ends: str) -> Iterator[Run]:
        own = self._own(said)
        words = tuple(word for token in said for word in self._expanded(token))
        if not words:
            return
        first = words[0].text
        if first in _DECLARES:
            self._declare(said[1:], first)
        elif first == "set" and len(words) > 1 and words[1].text == "--":
            self.arguments = words[2:]
        elif first in self._functions and self._depth < _MAX_DEPTH:
            yield from self._call(first, words[1:])
        elif first == "unset":
            for word in words[1:]:
                self._values.pop(word.text, None)
        else:
            yield from self._started(words, own, ends)

    def _own(self, said: list[Token]) -> dict[str, Word]:
        """Take the assignments off: those before a command are its own, those alone are the script's."""
        own: dict[str, Word] = {}
        while said and (assigned := _ASSIGNED.match(said[0].raw)) and said[0].pieces and said[0].pieces[0].kind == "bare":
            token = said.pop(0)
            name, value = assigned[1], self._assigned(token, assigned)
            if not said:
                self._assign(name, value, token, adds=bool(assigned[2]))
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
        exported = {name: self._values[name] for name in self._exported if name in self._values}
        yield Run(words, {**exported, **own}, ends == "&")

    def _nested(self, text: str, line: int, column: int, arguments: tuple[Word, ...] | None) -> Iterator[Run]:
        if self._depth >= _MAX_DEPTH:
            return
        before, self.arguments = self.arguments, arguments
        self._depth += 1
        yield from self.run(list(tokens(text, line, column)))
        self._depth -= 1
        self.arguments = before

    def _call(self, name: str, arguments: tuple[Word, ...]) -> Iterator[Run]:
        self._called.add(name)
        before, self.arguments = self.arguments, arguments
        self._depth += 1
        yield from self.run(self._functions[name])
        self._depth -= 1
        self.arguments = before

    def _declare(self, said: list[Token], how: str) -> None:
        for token in said:
            assigned = _ASSIGNED.match(token.raw)
            name = assigned[1] if assigned else token.raw
            if assigned:
                self._assign(name, self._assigned(token, assigned), token, adds=bool(assigned[2]))
            if how == "export":
                self._exported.add(name)

    def _assigned(self, token: Token, assigned: re.Match[str]) -> Word | None:
        """The value behind ``NAME=``, None where what it is made from is not known."""
        pieces = list(token.pieces)
        pieces[0] = Piece("bare", pieces[0].text[assigned.end() :])
        text = self._text(tuple(pieces))
        if variables.left_in(text):
            return None
        return Word(text, token.line, token.column + assigned.end())

    def _assign(self, name: str, value: Word | None, token: Token, *, adds: bool) -> None:
        if token.items is not None:
            words = tuple(word for item in token.items for word in self._expanded(item))
            self._arrays[name] = (*self._arrays.get(name, ()), *words) if adds else words
        elif name in self._said:
            return
        elif self._branches <= 0:
            self._set(name, value, adds=adds)
            self._sometimes.discard(name)
        elif name not in self._values or self._values[name].text == "":
            self._set(name, value, adds=adds)
            self._sometimes.add(name)
        elif name in self._sometimes and (value is None or value.text != self._values[name].text):
            del self._values[name]  # it depends

    def _set(self, name: str, value: Word | None, *, adds: bool) -> None:
        if value is None:
            self._values.pop(name, None)
        else:
            before = self._values[name].text if adds and name in self._values else ""
            self._values[name] = value._replace(text=(before + value.text)[: variables.MAX_CHARS])

    def _known(self) -> dict[str, str]:
        known = {name: word.text for name, word in self._values.items()}
        for i, word in enumerate(self.arguments or (), 1):
            known[str(i)] = word.text
        return {**known, **self._said}

    def _text(self, pieces: tuple[Piece, ...]) -> str:
        """The pieces in one, variables replaced."""
        return "".join(piece.text if piece.kind == "literal" else self._replaced(piece.text) for piece in pieces)

    def _replaced(self, text: str) -> str:
        if "$" in text:
            text = variables.expand(text, self._known()).text
        return text.replace(ESCAPED_DOLLAR, "$")

    def _expanded(self, token: Token) -> Iterator[Word]:
        """The words that a token becomes: arrays and values with blanks are several, a variable that is empty is none."""
        place = Word("", token.line, token.column)
        if len(token.pieces) == 1 and token.pieces[0].kind != "literal":
            several = _ARRAY.fullmatch(token.pieces[0].text)
            if several and several[1] and several[1] not in self._arrays and several[1] in self._values:
                yield place._replace(text=self._values[several[1]].text)
                return
            if several and (several[1] in self._arrays or (several[2] and self.arguments is not None)):
                yield from self._arrays[several[1]] if several[1] else self.arguments or ()
                return
        if not any("$" in piece.text for piece in token.pieces):
            yield place._replace(text=self._text(token.pieces))
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


def inner_script(words: Sequence[Word]) -> tuple[Word, tuple[Word, ...]] | None:
    """The text that ``bash -c TEXT [NAME ARGUMENTS]``, ``eval`` or ``tmux`` and their kin run as a script, with its arguments."""
    i = next((i for i, word in enumerate(words[:12]) if base(word.text) in _SHELLS), None)
    if i is not None:
        for j in range(i + 1, min(len(words), i + 5)):
            if re.fullmatch(r"-[a-z]*c", words[j].text) and j + 1 < len(words):
                return words[j + 1], tuple(words[j + 3 :])
            if not words[j].text.startswith(("-", "pipefail")):
                break
    first = base(words[0].text) if words else ""
    if first == "eval" and len(words) > 1:
        return words[1]._replace(text=" ".join(word.text for word in words[1:])), ()
    if first in ("tmux", "screen", "ssh", "su", "srun", "sbatch", "script", "wsl", "sudo", "docker", "podman", "kubectl"):
        spaced = [word for word in words[1:] if re.search(r"\S[ \t\n]+\S", word.text)]
        if first in ("docker", "podman") and "run" in [word.text for word in words[1:3]]:
            return None
        if spaced:
            wrapped = spaced[-1].text.removeprefix("--wrap=")
            return spaced[-1]._replace(text=wrapped), ()
    return None


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
