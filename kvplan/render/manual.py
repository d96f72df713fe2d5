"""Pages of the manual and the list of rules, as text or JSON."""

import textwrap

from kvplan.explainer import manual
from kvplan.explainer.manual import Page
from kvplan.render.envelope import document

_COLUMNS = 80


def page(said: str, *, as_json: bool) -> str:
    """The page of a rule or term. Raises RequestError with near matches."""
    found = manual.find(said)
    if as_json:
        return document({**_head(found), "sections": [section._asdict() for section in found.sections]})
    blocks = [f"{found.id} · {found.level or 'term'}\n{textwrap.fill(found.summary, _COLUMNS)}"]
    blocks += [f"{section.title}\n{textwrap.indent(_without_fences(section.text), '  ')}" for section in found.sections]
    return "\n\n".join(blocks) + "\n"


def rules(words: str, *, as_json: bool) -> str:
    """The rules in which all ``words`` stand, one a row. Raises RequestError where there is none."""
    found = manual.rules(words)
    if as_json:
        return document({"rules": [_head(rule) for rule in found]})
    width = max(len(str(rule.level)) for rule in found)
    rows = (_row(f"{rule.id}  {rule.level:<{width}}  ", rule.summary) for rule in found)
    return "\n".join((*rows, "", f"`kvplan explain {found[0].id}` is the page of a rule", ""))


def _head(found: Page) -> dict[str, object]:
    return {"id": found.id, "level": found.level, "summary": found.summary}


def _row(head: str, summary: str) -> str:
    return textwrap.fill(summary, _COLUMNS, initial_indent=head, subsequent_indent=" " * len(head))


def _without_fences(text: str) -> str:
    return "\n".join(line for line in text.splitlines() if not line.startswith("```"))
