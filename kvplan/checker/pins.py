"""Versions of engines that a file installs: ``pip install vllm==0.11.0``."""

import re

from kvplan.checker.server import Word

_PIN = re.compile(r"(?<![\w-])(vllm|sglang)(?:\[[^\]]*\])?==(\d+(?:\.\d+)+(?:\.post\d+|rc\d+)?)")


def pinned(text: str, line: int = 1) -> dict[str, Word]:
    """The version of each engine that ``text`` pins, the last one of several."""
    return {found[1]: Word(found[2], line + text.count("\n", 0, found.start())) for found in _PIN.finditer(text)}
