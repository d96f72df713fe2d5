"""All rules over all servers."""

from collections.abc import Iterator, Sequence

from kvplan import _discover
from kvplan.checker.case import Case, Found
from kvplan.checker.server import Unreadable

RULES = "kvplan.checker.rules"
UNKNOWN = ("KV590", "KV591", "KV592", "KV593")  # what --strict takes for errors


def judge(cases: Sequence[Case], unreadable: Sequence[Unreadable], *, strict: bool) -> tuple[Found, ...]:
    """The findings of every rule, and of documents that could not be read; with ``strict`` what is unknown is an error."""
    found = [*_of_rules(cases), *(_unreadable(one) for one in unreadable)]
    return tuple(one._replace(level="error") if strict and one.rule in UNKNOWN else one for one in found)


def _of_rules(cases: Sequence[Case]) -> Iterator[Found]:
    for module in _discover.modules(RULES).values():
        for case in cases:
            yield from module.check(case)
        if hasattr(module, "check_all"):
            yield from module.check_all(cases)


def _unreadable(one: Unreadable) -> Found:
    hint = "kvplan reads it as data and renders no templates; mend it, or leave the file out with per-file-ignores"
    return Found("KV593", "note", one.file, one.line, 1, None, f"this document can't be read and was left out: {one.reason}", hint)
