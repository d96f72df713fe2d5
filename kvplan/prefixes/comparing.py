"""A request beside the earlier one that is most like it: what keeps them from being more alike."""

import json
from collections.abc import Iterator
from typing import NamedTuple

from kvplan.prefixes.divergence import LEAST_RESUMED, alike, partings
from kvplan.prefixes.patterns import PERSON, Kind, Span
from kvplan.prefixes.request import Message, Request, Tool

TOOLS = -1
SYSTEM = ("system", "developer")
_CONTEXT = 48


class Break(NamedTuple):
    """What parts two requests at ``at`` signs, though ``lost`` signs after it are the same.

    ``message`` is the message, TOOLS for the tools, 0 of a prompt that is one text. ``mine`` and ``theirs`` are the pieces that differ;
    ``before`` and ``after`` are what stands around them in both.
    """

    kind: Kind
    message: int
    at: int
    lost: int
    mine: str
    theirs: str
    before: str = ""
    after: str = ""


def breaks(later: Request, earlier: Request) -> tuple[Break, ...]:
    """What parts the two; nothing where one only goes on from the other, or says something else."""
    if later.is_chat != earlier.is_chat or later.ids is not None or earlier.ids is not None:
        return ()
    if later.text is not None and earlier.text is not None:
        return tuple(_of_text(later, earlier, Message("", later.text), Message("", earlier.text), (0, 0)))
    found: list[Break] = []
    if later.tools != earlier.tools:
        one = _of_tools(later, earlier)
        if one is None:
            return ()
        found.append(one)
    _of_messages(later, earlier, found)
    return tuple(found)


def _of_tools(later: Request, earlier: Request) -> Break | None:
    ours, others = [canonical(tool.json) for tool in later.tools], [canonical(tool.json) for tool in earlier.tools]
    if sorted(ours) != sorted(others):
        return None
    same = ours == others
    mine, theirs = "\n".join(tool.json for tool in later.tools), "\n".join(tool.json for tool in earlier.tools)
    at = alike(mine, theirs)
    shown = (mine[at : at + _CONTEXT], theirs[at : at + _CONTEXT]) if same else (_names(later.tools), _names(earlier.tools))
    return Break("key_order" if same else "tool_order", TOOLS, at, len(mine) - at, *shown)


def canonical(text: str) -> str:
    """JSON with its keys in order."""
    return json.dumps(json.loads(text), sort_keys=True, ensure_ascii=False)


def _names(tools: tuple[Tool, ...]) -> str:
    return ", ".join(tool.name for tool in tools)


def _of_messages(later: Request, earlier: Request, found: list[Break]) -> None:
    """Breaks in messages, added to those before; what is alike behind the last one is lost with it."""
    at = sum(len(tool.json) for tool in later.tools)
    for i, (mine, theirs) in enumerate(zip(later.messages, earlier.messages, strict=False)):
        if mine.role != theirs.role:
            return
        if mine.text != theirs.text:
            here = list(_of_text(later, earlier, mine, theirs, (i, at)))
            if not here and mine.role in SYSTEM:
                here = [Break("system_variants", i, at, len(mine.text), mine.text[:_CONTEXT], theirs.text[:_CONTEXT])]
                mine = theirs  # one system text for both, and the rest may be alike
            found += here
            if not here or (mine != theirs and not _ends_alike(here[-1], mine.text, theirs.text)):
                return
        elif found:
            found[-1] = found[-1]._replace(lost=found[-1].lost + len(mine.text))
        if mine.extra != theirs.extra:
            if not mine.extra or not theirs.extra or canonical(mine.extra) != canonical(theirs.extra):
                return
            found.append(Break("key_order", i, at + len(mine.text), len(mine.extra), mine.extra[:_CONTEXT], theirs.extra[:_CONTEXT]))
        at += len(later.messages[i].text) + len(mine.extra)


def _ends_alike(last: Break, mine: str, theirs: str) -> bool:
    """Whether two texts are the same from the last difference to their ends."""
    n = last.lost
    return mine[-n:] == theirs[-n:] if n else mine.endswith(last.mine) and theirs.endswith(last.theirs)


def _of_text(later: Request, earlier: Request, mine: Message, theirs: Message, where: tuple[int, int]) -> Iterator[Break]:
    message, begin = where
    for parting in partings(mine.text, theirs.text):
        ours, others = parting.mine, parting.theirs
        kind = parting.kind or _kind(later, earlier, mine, ours)
        yield Break(
            kind,
            message,
            begin + ours.start,
            parting.resumed,
            mine.text[ours.start : ours.end],
            theirs.text[others.start : others.end],
            mine.text[max(0, ours.start - LEAST_RESUMED) : ours.start],
            mine.text[ours.end : ours.end + LEAST_RESUMED],
        )


def _kind(later: Request, earlier: Request, message: Message, span: Span) -> Kind:
    """Of a piece whose form tells nothing: whose it is."""
    if None not in (later.user, earlier.user) and later.user != earlier.user:
        return "per_user"
    start = message.text.rfind("\n", 0, span.start) + 1
    if PERSON.search(message.text, start, span.end):
        return "per_user"
    return "system_variants" if message.role in SYSTEM else "private_text"


def cut_from_front(later: Request, earlier: Request) -> Break | None:
    """Whether ``later`` goes on with ``earlier`` but for messages that were left out in front."""
    mine, theirs = later.messages, earlier.messages
    k = next((i for i, (a, b) in enumerate(zip(mine, theirs, strict=False)) if a != b), None)
    if k is None:
        return None
    for shift in range(1, len(theirs) - k):
        kept = theirs[k + shift :]
        if mine[k : k + len(kept)] == kept:
            lost = sum(len(message.text) + len(message.extra) for message in kept)
            if len(kept) < 2 and lost < LEAST_RESUMED:
                return None
            at = sum(len(tool.json) for tool in later.tools) + sum(len(message.text) for message in mine[:k])
            return Break("front_cut", k, at, lost, mine[k].text[:_CONTEXT], theirs[k].text[:_CONTEXT])
    return None
