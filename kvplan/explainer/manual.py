"""The manual: one Markdown file a rule or term under ``pages``, which is the one place for a rule's level and summary.

A file begins with ``# KV322: note`` (``# kv_cache: term``), then the summary on a line of its own, then sections.
"""

import os
import re
from functools import cache
from pathlib import Path
from typing import NamedTuple

from kvplan.core.errors import RequestError, near_matches

FOLDER = Path(__file__).parent / "pages"
_RULE = re.compile(r"KV\d{3}")
_TERM = "term"
_LOGS = (".log", ".txt", ".out", ".err")


class Section(NamedTuple):
    """A heading and the Markdown below it."""

    title: str
    text: str


class Page(NamedTuple):
    """The page of one rule or term; a term has no ``level``."""

    id: str
    level: str | None
    summary: str
    sections: tuple[Section, ...]


@cache
def ids() -> tuple[str, ...]:
    """Every rule and term that has a page: rules in order, then terms in order."""
    found = sorted(path.stem for path in FOLDER.glob("*.md"))
    return (*(name for name in found if is_rule(name)), *(name for name in found if not is_rule(name)))


def is_rule(name: str) -> bool:
    """Whether ``name`` is an id of a rule, and not of a term."""
    return _RULE.fullmatch(name) is not None


def read(name: str) -> Page:
    """The page of the id ``name``, as ``ids`` has it."""
    head, *parts = (FOLDER / f"{name}.md").read_text(encoding="utf-8").split("\n## ")
    title, summary = head.strip().split("\n", 1)
    level = title.rpartition(": ")[2]
    sections = (part.partition("\n") for part in parts)
    return Page(
        name, None if level == _TERM else level, summary.strip(), tuple(Section(name, text.strip("\n")) for name, _, text in sections)
    )


def find(said: str) -> Page:
    """The page that people mean by ``said``: ``kv322``, ``kv cache``, ``max_model_len``. Raises RequestError with near matches."""
    by_fold = {_folded(name): name for name in ids()}
    name = by_fold.get(_folded(said))
    if name is not None:
        return read(name)
    near = [by_fold[match] for match in near_matches(_folded(said), by_fold)]
    hint = f"did you mean {' or '.join(repr(match) for match in near)}?" if near else "`kvplan rules` lists the rules"
    raise RequestError("unknown_page", f"no rule or term '{said}'", hint=hint)


def rules(words: str = "") -> tuple[Page, ...]:
    """The pages of the rules in whose id, level and summary all ``words`` stand. Raises RequestError where there is none."""
    wanted = words.lower().split()
    pages = (read(name) for name in ids() if is_rule(name))
    found = tuple(page for page in pages if all(word in f"{page.id} {page.level} {page.summary}".lower() for word in wanted))
    if not found:
        raise RequestError("unknown_page", f"no rule has '{words}' in its id, level or summary", hint="`kvplan rules` lists all")
    return found


def _folded(name: str) -> str:
    return name.strip().lower().replace("_", "-").replace(" ", "-")


def may_be_a_log(said: str) -> bool:
    """Whether ``said`` is meant as a file, or stdin, and not as a page: pages come first."""
    if _folded(said) in {_folded(name) for name in ids()}:
        return False
    return said == "-" or "/" in said or said.endswith(_LOGS) or os.path.lexists(said)
