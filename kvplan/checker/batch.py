"""Windows batch files: their commands with variables replaced where ``set`` gave them a value. Nothing is executed."""

import re
from collections.abc import Iterator, Mapping

from kvplan.checker.scripts import Run
from kvplan.checker.server import Word
from kvplan.checker.variables import expand, left_in

_SET = re.compile(r"""set\s+(?:/[aA]\s+)?("?)([A-Za-z_]\w*)=(.*)\1""", re.IGNORECASE)
_SHELL = re.compile(r"\bcmd(?:\.exe)?\s+/[ck]\b", re.IGNORECASE)
_REMARK = re.compile(r"\s*@?(?:rem\b|::)", re.IGNORECASE)
_WORD = re.compile(r'"([^"\n]*)"?|([^\s"&|<>]+)')
_ENDS = re.compile(r"&&|&|\|\||\|")
_HERE = re.compile(r"%~dp0\\?|%cd%\\?", re.IGNORECASE)
_OPTION = re.compile(r"/[A-Za-z]+(?::\w+)?")


def commands(script: Word, known: Mapping[str, str]) -> Iterator[Run]:
    """The commands of a batch file in their order; ``known`` are variables that win over what the file says."""
    env: dict[str, Word] = {}
    for line, text in _lines(script):
        text = expand(_HERE.sub(".\\\\", text), {**{name: word.text for name, word in env.items()}, **known}, "batch").text
        for start, part in _parts(text):
            stripped = part.strip().lstrip("@").strip()
            assigned = _SET.fullmatch(stripped)
            if assigned and not left_in(assigned[3]):
                env[assigned[2]] = Word(assigned[3].strip('"'), line, start + 1)
            elif not assigned and stripped:
                words = _words(part, line, start)
                shelled = next((word for word in words[1:] if " " in word.text), None) if _SHELL.search(part) else None
                if shelled is not None:
                    yield from commands(shelled, {**{name: word.text for name, word in env.items()}, **known})
                elif words:
                    yield Run(words, dict(env), words[0].text == "start")


def _lines(script: Word) -> Iterator[tuple[int, str]]:
    """Lines with those that ^ continues in one."""
    held, first = "", 0
    for number, text in enumerate(script.text.split("\n"), script.line):
        text = text.rstrip("\r")
        if _REMARK.match(text) and not held:
            continue
        first = first or number
        if text.rstrip().endswith("^"):
            held += text.rstrip()[:-1] + " "
            continue
        yield first, held + text
        held, first = "", 0
    if held:
        yield first, held


def _parts(text: str) -> Iterator[tuple[int, str]]:
    start, quoted = 0, False
    for i, char in enumerate(text):
        quoted ^= char == '"'
        ends = None if quoted else _ENDS.match(text, i)
        if ends and i >= start:
            yield start, text[start:i]
            start = ends.end()
    yield start, text[start:]


def _words(text: str, line: int, start: int) -> tuple[Word, ...]:
    """Words behind ``start "title" /b`` and ``call``; quotes inside a word are part of JSON and stay."""
    text = re.sub(r"[ \t]*\d?>{1,2}.*", "", text)
    found: list[Word] = []
    for match in _WORD.finditer(text.replace("@", " ", 1) if text.lstrip().startswith("@") else text):
        value = match[1] if match[2] is None else match[2]
        found.append(Word(value.replace("^", ""), line, start + match.start() + 1))
    if found and found[0].text.lower() == "start":
        rest = found[1:]
        if rest and text.lstrip()[5:].lstrip().startswith('"'):
            rest = rest[1:]
        while rest and _OPTION.fullmatch(rest[0].text):
            rest = rest[1:]
        return (found[0]._replace(text="start"), *rest) if rest else ()
    return tuple(found)
