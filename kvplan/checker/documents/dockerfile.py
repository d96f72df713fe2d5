"""Dockerfiles: what the last stage starts. Source: docs.docker.com/reference/dockerfile (CMD and ENTRYPOINT, exec and shell form)."""

import json
import re
from collections.abc import Iterator
from typing import NamedTuple

from kvplan.checker import pins
from kvplan.checker.mentions import MENTIONS
from kvplan.checker.server import Server, Text, Unreadable, Word
from kvplan.checker.variables import expand

KIND = "dockerfile"
_NAME = re.compile(r"(?:docker|container)file(?:[._-].*)?|.*\.(?:docker|container)file", re.IGNORECASE)
_INSTRUCTION = re.compile(r"[ \t]*(FROM|ARG|ENV|CMD|ENTRYPOINT|RUN)[ \t]+", re.IGNORECASE)
_FROM = re.compile(r"(?:--\S+\s+)*(\S+)(?:\s+AS\s+(\S+))?", re.IGNORECASE)
_PAIR = re.compile(r"""([A-Za-z_]\w*)=("(?:[^"\\]|\\.)*"|'[^']*'|(?:\\.|[^\s"'])*)""")


class _Stage(NamedTuple):
    image: Word
    env: dict[str, Word]
    entrypoint: tuple[Word, ...] | None = None
    command: tuple[Word, ...] | None = None
    line: int = 1


def claims(file: Text) -> bool:
    """Named so, and with an engine in it."""
    return _NAME.fullmatch(file.path.rpartition("/")[2]) is not None and MENTIONS.search(file.text) is not None


def servers(file: Text) -> Iterator[Server | Unreadable]:
    """What the image starts; nothing where that is left to the image that it is built upon, unless variables are set for it."""
    stages: dict[str, _Stage] = {}
    known = dict(file.variables)
    stage: _Stage | None = None
    for name, word in _instructions(file.text):
        if name == "FROM" and (found := _FROM.match(word.text)):
            image = expand(found[1], known).text
            base = stages.get(image.lower(), _Stage(word._replace(text=image), {}))
            stage = base._replace(line=word.line)
            stages[(found[2] or f"stage {len(stages)}").lower()] = stage
        elif name == "ARG":
            key, equals, value = word.text.partition("=")
            if equals:
                known.setdefault(key.strip(), expand(value.strip().strip("\"'"), known).text)
        elif stage is not None and name != "RUN":
            stage = _with(stage, name, word, known)
            stages[list(stages)[-1]] = stage
    if stage is None or (stage.entrypoint is None and stage.command is None and not _sets(stage.env)):
        return
    words = (*(stage.entrypoint or ()), *(stage.command or ()))
    line = words[0].line if words else stage.line
    versions = pins.pinned(file.text)
    pin = versions.get("vllm") or versions.get("sglang")
    yield Server(KIND, None, file.path, line, words, stage.env, stage.image, pinned=pin)


def _with(stage: _Stage, name: str, word: Word, known: dict[str, str]) -> _Stage:
    values = {**{key: value.text for key, value in stage.env.items()}, **known}
    if name == "ENV":
        return stage._replace(env={**stage.env, **_variables(word, values)})
    said = tuple(part._replace(text=expand(part.text, values).text) for part in _command(word))
    if name == "ENTRYPOINT":
        return stage._replace(entrypoint=said, command=None)
    return stage._replace(command=said)


def _sets(env: dict[str, Word]) -> bool:
    return any(name.startswith(("LLAMA_ARG_", "OLLAMA_")) for name in env)


def _instructions(text: str) -> Iterator[tuple[str, Word]]:
    """Instructions with their continued lines in one; comments between them are left out."""
    lines = text.removeprefix("\ufeff").replace("\r\n", "\n").split("\n")
    i = 0
    while i < len(lines):
        found = _INSTRUCTION.match(lines[i])
        start, said = i, lines[i][found.end() :] if found else lines[i]
        parts = []
        while said.rstrip().endswith("\\") and i + 1 < len(lines):
            parts.append(said.rstrip()[:-1])
            i += 1
            while i + 1 < len(lines) and lines[i].lstrip().startswith("#"):
                i += 1
            said = lines[i]
        parts.append(said)
        if found:
            yield found[1].upper(), Word("\n".join(parts), start + 1, found.end() + 1)
        i += 1


def _command(word: Word) -> tuple[Word, ...]:
    """The words of the exec form; the shell form is a script."""
    try:
        said = json.loads(word.text) if word.text.lstrip().startswith("[") else None
    except (ValueError, RecursionError):
        said = None
    if not isinstance(said, list) or not all(isinstance(part, str) for part in said):
        return (word._replace(text="sh"), word._replace(text="-c"), word._replace(text=word.text.replace("\n", "\\\n")))
    found, at = [], 0
    for part in said:
        at = max(at, word.text.find(json.dumps(part), at))
        lines = word.text.count("\n", 0, at)
        column = at + word.column if not lines else at - word.text.rfind("\n", 0, at)
        found.append(Word(part, word.line + lines, column))
        at += 1
    return tuple(found)


def _variables(word: Word, known: dict[str, str]) -> dict[str, Word]:
    """``ENV A=1 B="2"`` and the old ``ENV A 1``."""
    pairs = [(found[1], found[2]) for found in _PAIR.finditer(word.text)]
    if not re.match(r"[A-Za-z_]\w*=", word.text):
        name, _, value = word.text.strip().partition(" ")
        pairs = [(name, value.strip())]
    return {name: word._replace(text=expand(value.strip("\"'"), known).text) for name, value in pairs}
