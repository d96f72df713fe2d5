"""Findings that a file itself says to leave out: ``# kvplan: ignore[KV502] reason`` on the line, the line above, or the file's head.

In Kubernetes an annotation ``kvplan.dev/ignore: "KV502: reason"`` does the same for the documents that it stands in.
"""

import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from kvplan.checker.case import Found
from kvplan.checker.report import Suppressed

_COMMENT = re.compile(r"(?:#|//|;|::|\bREM\b)\s*kvplan:\s*ignore\[([^\]]*)\]\s*(.*)", re.IGNORECASE)
_ANNOTATION = re.compile(r"kvplan\.dev/ignore\s*:\s*[\"']?\s*(KV\d{3}(?:\s*,\s*KV\d{3})*)\s*:\s*([^\"']*)")
_ANYTHING = re.compile(r"kvplan:\s*ignore|kvplan\.dev/ignore", re.IGNORECASE)
_RULE = re.compile(r"KV\d{3}")
_SOURCE_STARTS = re.compile(r"\s*[^\s#;/]")


class Suppression(NamedTuple):
    """One comment: its rules, its reason, its line, and the lines that it covers."""

    file: str
    line: int
    rules: tuple[str, ...]
    reason: str
    covers: range


def read(file: str, lines: Sequence[str]) -> tuple[tuple[Suppression, ...], tuple[Found, ...]]:
    """The file's suppressions, and KV594 for each comment that is none."""
    kept, bad = [], []
    head = next((i for i, line in enumerate(lines) if _SOURCE_STARTS.match(line)), len(lines))
    for i, line in enumerate(lines):
        if not _ANYTHING.search(line):
            continue
        said = _COMMENT.search(line) or _ANNOTATION.search(line)
        rules = tuple(_RULE.findall(said[1])) if said else ()
        if said is None or not rules or not said[2].strip():
            message = "this suppression has no rule or no reason, and does nothing"
            bad.append(_unused(file, i + 1, message))
            continue
        covers = _document(lines, i) if _ANNOTATION.search(line) else range(len(lines) + 1) if i < head else range(i, i + 2)
        kept.append(Suppression(file, i + 1, rules, said[2].strip(), covers))
    return tuple(kept), tuple(bad)


def apply(found: Sequence[Found], files: Mapping[str, Sequence[str]]) -> tuple[tuple[Found, ...], tuple[Suppressed, ...]]:
    """What is left, with KV594 for suppressions that nothing needed, and what was left out."""
    kept = list(found)
    out: list[Suppressed] = []
    extra: list[Found] = []
    for file, lines in files.items():
        said, bad = read(file, lines)
        extra += bad
        for one in said:
            hit = [f for f in kept if f.file == file and f.rule in one.rules and f.line - 1 in one.covers]
            out += [Suppressed(f, one.reason) for f in hit]
            kept = [f for f in kept if f not in hit]
            for rule in (rule for rule in one.rules if all(f.rule != rule for f in hit)):
                extra.append(_unused(file, one.line, f"{rule} does not come up here: this suppression is not needed"))
    return (*kept, *extra), tuple(out)


def _document(lines: Sequence[str], at: int) -> range:
    """The lines of the YAML document around ``at``."""
    first = next((i for i in range(at, 0, -1) if lines[i].startswith("---")), 0)
    last = next((i for i in range(at, len(lines)) if lines[i].startswith("---")), len(lines))
    return range(first, last)


def _unused(file: str, line: int, message: str) -> Found:
    return Found("KV594", "warning", file, line, 1, None, message, "write `# kvplan: ignore[KV502] reason`, or delete it")
