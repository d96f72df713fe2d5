"""A shell script as tokens with places: words in pieces that are quoted or not, operators, here-documents."""

import re
from collections.abc import Iterator

from kvplan.checker.shell_pieces import Piece, Token, double_quoted, end_of_variable

MAX_TOKENS = 50_000
_OPERATORS = re.compile(r"&&|\|\||;;&?|;&|\|&|[;&|()\n]")
_REDIRECT = re.compile(r"[0-9]*(?:<<<|&>>?|>>|>\||>&|<&|<>|>|<(?!<))|&>>?")
_HEREDOC = re.compile(r"[0-9]*<<(-?)[ \t]*(?:'([^'\n]+)'|\"([^\"\n]+)\"|\\?([\w.-]+))")
_PLAIN = re.compile(r"[^\s;&|()<>\"'\\$`#]+")
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r"}


def tokens(text: str, line: int = 1, column: int = 1) -> Iterator[Token]:
    """The tokens of a script that begins at ``line`` and ``column`` of its file; every line begins at that column.

    Quotations that don't end reach to the end.
    """
    lexer = _Lexer(text, line, column)
    for _ in range(MAX_TOKENS):
        token = lexer.next()
        if token is None:
            return
        yield token


class _Lexer:
    def __init__(self, text: str, line: int, column: int) -> None:
        self._text, self._at = text.replace("\r\n", "\n"), 0
        self._line, self._column, self._line_start = line, column, 0
        self._awaited: list[tuple[str, bool]] = []  # delimiters of here-documents, and whether their text is literal
        self._documents: list[Token] = []

    def next(self) -> Token | None:
        if self._documents:
            return self._documents.pop(0)
        self._skip()
        if self._at >= len(self._text):
            return None
        heredoc = _HEREDOC.match(self._text, self._at)
        if heredoc and not self._text.startswith("<<<", self._at):
            self._awaited.append((next(group for group in heredoc.groups()[1:] if group is not None), heredoc[4] is None))
            self._at = heredoc.end()
            return self.next() if self._at < len(self._text) else None
        redirect = _REDIRECT.match(self._text, self._at)
        if redirect and self._text[redirect.end() : redirect.end() + 1] != "(":
            return self._operator(redirect, ">")
        operator = _OPERATORS.match(self._text, self._at)
        if operator:
            token = self._operator(operator, operator[0])
            if operator[0] == "\n":
                self._new_line(self._at)
                self._here_documents()
            return token
        return self._word()

    def _skip(self) -> None:
        """Blanks, continued lines, comments."""
        while self._at < len(self._text):
            char = self._text[self._at]
            if char in " \t\r\f\v":
                self._at += 1
            elif self._text.startswith("\\\n", self._at):
                self._at += 2
                self._new_line(self._at)
            elif char == "#":
                end = self._text.find("\n", self._at)
                self._at = len(self._text) if end < 0 else end
            else:
                return

    def _new_line(self, at: int) -> None:
        self._line += 1
        self._line_start = at

    def _place(self) -> tuple[int, int]:
        return self._line, self._at - self._line_start + self._column

    def _operator(self, found: re.Match[str], name: str) -> Token:
        line, column = self._place()
        self._at = found.end()
        return Token("operator", line, column, operator=name)

    def _here_documents(self) -> None:
        for delimiter, is_literal in self._awaited:
            line, start = self._line, self._at
            while self._at < len(self._text):
                end = self._text.find("\n", self._at)
                end = len(self._text) if end < 0 else end
                said, here = self._text[self._at : end], self._at
                self._at = min(end + 1, len(self._text))
                self._new_line(self._at)
                if said.strip() == delimiter:
                    break
            else:
                here = len(self._text)
            piece = Piece("literal" if is_literal else "quoted", self._text[start:here])
            self._documents.append(Token("document", line, self._column, (piece,)))
        self._awaited = []

    def _word(self) -> Token:
        line, column = self._place()
        pieces: list[Piece] = []
        text = self._text
        while self._at < len(text):
            char = text[self._at]
            if text.startswith(("<(", ">("), self._at):  # the name of a pipe
                start, self._at = self._at, end_of_variable(text, self._at)
                pieces.append(self._counted(start, Piece("literal", text[start : self._at])))
                continue
            if char.isspace() or char in ";&|)<>":
                break
            if char == "(":
                if pieces and pieces[-1].kind == "bare" and pieces[-1].text.endswith("="):
                    return Token("word", line, column, tuple(pieces), items=tuple(self._array()))
                break
            pieces.append(self._piece(char))
        if not pieces:  # a sign that means nothing here
            self._at += 1
            return Token("word", line, column, (Piece("literal", text[self._at - 1]),))
        return Token("word", line, column, tuple(pieces))

    def _array(self) -> Iterator[Token]:
        self._at += 1
        for _ in range(MAX_TOKENS):
            token = self.next()
            if token is None or token.operator == ")":
                return
            if token.kind == "word":
                yield token

    def _piece(self, char: str) -> Piece:
        text, start = self._text, self._at
        if char == "\\":
            self._at += 2
            said = text[start + 1 : start + 2]
            if said == "\n":
                self._new_line(self._at)
            return Piece("literal", "" if said == "\n" else said)
        if char == "'":
            end = text.find("'", start + 1)
            return self._through(len(text) if end < 0 else end, Piece("literal", text[start + 1 : None if end < 0 else end]))
        if char == '"':
            return self._double()
        if text.startswith("$'", start):
            found = re.compile(r"\$'((?:[^'\\]|\\.)*)'?", re.DOTALL).match(text, start)
            assert found is not None
            said = re.sub(r"\\(.)", lambda escape: _ESCAPES.get(escape[1], escape[1]), found[1], flags=re.DOTALL)
            return self._through(found.end() - 1, Piece("literal", said))
        if char in "$`":
            self._at = end_of_variable(text, start)
            return self._counted(start, Piece("bare", text[start : self._at]))
        plain = _PLAIN.match(text, start)
        self._at = plain.end() if plain else start + 1
        return Piece("bare", text[start : self._at])

    def _through(self, end: int, piece: Piece) -> Piece:
        start, self._at = self._at, min(end + 1, len(self._text))
        return self._counted(start, piece)

    def _counted(self, start: int, piece: Piece) -> Piece:
        lines = self._text.count("\n", start, self._at)
        if lines:
            self._line += lines
            self._line_start = self._text.rindex("\n", start, self._at) + 1
        return piece

    def _double(self) -> Piece:
        end, said = double_quoted(self._text, self._at)
        return self._through(end, Piece("quoted", said))
