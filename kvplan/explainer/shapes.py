"""Every shape that kvplan knows: those beside each engine that it models, and those of the folder ``logs``; found by folder."""

import importlib
from functools import cache
from pkgutil import iter_modules
from typing import NamedTuple

from kvplan import _discover, engines
from kvplan.core.logs import Shape
from kvplan.explainer import logs
from kvplan.explainer.lines import plain
from kvplan.explainer.templates import APART, WORD_BYTES, Template, compiled, signature

PRECEDENCE = ("tensorrt-llm", "sglang", "tgi", "ollama", "vllm", "llama.cpp", "transformers")
"""Who a log is of where several are seen in it: those that run on another come before it."""


@cache
def templates() -> tuple[Template, ...]:
    """All of them, of every engine."""
    modules = [*_discover.modules(logs.__name__).values()]
    for package in iter_modules(engines.__path__, f"{engines.__name__}."):
        folder = importlib.import_module(package.name)
        names = [module.name for module in iter_modules(folder.__path__, f"{package.name}.") if "log_" in module.name]
        modules += [importlib.import_module(name) for name in names]
    return tuple(compiled(shape, module.ENGINE) for module in modules for shape in module.SHAPES)


def candidates(line: bytes) -> tuple[Template, ...]:
    """The templates that ``line`` may be of, by its words; nearly all lines of a log are of none."""
    if line[:1] == b"{" or b"\x1b" in line or b"[0m" in line:
        line = plain(line).encode()
    index = _indexed()
    words = line.translate(APART).split()
    may_be_others = bool(line.translate(None, index.other_bytes))
    if index.words.isdisjoint(words) and not may_be_others:
        return ()
    key = signature(line)
    found = [template for word in index.words.intersection(words) for template in index.by_word[word] if template.needle in key]
    if may_be_others:
        found += [template for template in index.others if template.needle in key]
    order = _order()
    return tuple(sorted(found, key=lambda template: order[template.shape])) if found else ()


class _Index(NamedTuple):
    """Templates by their word, and those without one; a line without any byte that is not in ``other_bytes`` is of none of these."""

    by_word: dict[bytes, list[Template]]
    words: frozenset[bytes]
    others: list[Template]
    other_bytes: bytes


@cache
def _indexed() -> _Index:
    by_word: dict[bytes, list[Template]] = {}
    others: list[Template] = []
    for template in templates():
        (others if template.word is None else by_word.setdefault(template.word, [])).append(template)
    telling = {next((byte for byte in template.needle if not WORD_BYTES[byte]), template.needle[0]) for template in others}
    return _Index(by_word, frozenset(by_word), others, bytes(byte for byte in range(256) if byte not in telling))


@cache
def _order() -> dict[Shape, int]:
    """The order in which shapes are written: the more telling one of a line comes first."""
    return {template.shape: at for at, template in enumerate(templates())}
