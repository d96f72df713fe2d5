"""llama-server's presets: a section for each model that its router can load, ``[*]`` for all of them.

Source: llama.cpp b11434 common/preset.cpp (the grammar: a comment may end any line; keys are flags without dashes, long or short, or
LLAMA_ARG_* variables), tools/server/README.md, "Model presets" (a section overrides ``[*]``; its name may itself be a repository).
"""

import re
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from kvplan.checker.server import Server, Text, Unreadable, Word
from kvplan.engines.llamacpp import presets
from kvplan.engines.llamacpp.known import variables

KIND = "llamacpp-preset"
_ALL = "*"
_EXTENSIONS = (".ini", ".cfg", ".conf", ".preset")
_HEADER = re.compile(r"\s*\[\s*([^\]]+?)\s*\]\s*(?:[;#].*)?")
_SETTING = re.compile(r"\s*([A-Za-z_][\w.-]*)[ \t]*=[ \t]*(.*?)[ \t]*(?:[;#].*)?")
_COMMENT = re.compile(r"\s*(?:[;#].*)?")
_OURS = re.compile(
    r"^\s*(?:(?:ctx-size|n-gpu-layers|gpu-layers|ngl|hf-repo|hfr?|ubatch-size|cache-type-[kv]|LLAMA_ARG_\w+)[ \t]*=|"
    r"(?:m|model)[ \t]*=.*\.gguf)",
    re.MULTILINE,
)
_REPOSITORY = re.compile(r"[\w-][\w.-]*/[\w.-]+(?::[\w.-]+)?", re.ASCII)
_MODEL = ("-m", "--model", "-hf", "-hfr", "--hf-repo", "-mu", "--model-url", "-dr", "--docker-repo")


class _Section(NamedTuple):
    line: int
    settings: dict[str, tuple[Word, Word]]
    """Key and value by the key."""


def claims(file: Text) -> bool:
    """An .ini with sections that set what llama.cpp calls so."""
    return file.path.lower().endswith(_EXTENSIONS) and "[" in file.text and _OURS.search(file.text) is not None


def servers(file: Text) -> Iterator[Server | Unreadable]:
    """One for each section but ``[*]``; a line that is none loses only itself."""
    sections: dict[str, _Section] = {}
    for found in _read(file):
        if isinstance(found, Unreadable):
            yield found
        else:
            name, section = found
            sections[name] = section
    common = sections.pop(_ALL, _Section(1, {})).settings
    for name, section in sections.items():
        if name and (section.settings or _REPOSITORY.fullmatch(name)):
            yield _server(file.path, name, section, common)


def _read(file: Text) -> Iterator[tuple[str, _Section] | Unreadable]:
    name, section = "", _Section(1, {})
    for number, line in enumerate(file.text.removeprefix("\ufeff").splitlines(), 1):
        header, setting = _HEADER.fullmatch(line), _SETTING.fullmatch(line)
        if header:
            yield name, section
            name, section = header[1], _Section(number, {})
        elif setting:
            key, value = setting[1], Word(setting[2], number, setting.start(2) + 1)
            section.settings[key] = (Word(key, number, setting.start(1) + 1), value)
        elif not _COMMENT.fullmatch(line):
            yield Unreadable(file.path, number, f"preset: expected a section or KEY = VALUE, found '{line.strip()[:60]}'")
    yield name, section


def _server(path: str, name: str, section: _Section, common: Mapping[str, tuple[Word, Word]]) -> Server:
    """What the section says overrides ``[*]``: it comes later, and the last one wins."""
    words, env = [Word("llama-server", section.line)], {}
    for key, value in (*common.values(), *section.settings.values()):
        if key.text.startswith("LLAMA_ARG_") and key.text not in variables():
            env[key.text] = value
            continue
        words += [Word(text, value.line, value.column) for text in presets.words({key.text: value.text})]
    model = None
    if not any(word.text in _MODEL for word in words):
        model = Word(name, section.line)
        if _REPOSITORY.fullmatch(name):
            words += [Word("-hf", section.line), model]
    return Server(KIND, name, path, section.line, tuple(words), env, engine="llama.cpp", model=model)
