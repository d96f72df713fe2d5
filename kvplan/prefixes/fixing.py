"""What a change of order would give: the same requests with the offending pieces at the end, or in one form."""

import re
from collections.abc import Callable, Iterable
from typing import NamedTuple

from kvplan.prefixes.breaking import Cause
from kvplan.prefixes.comparing import canonical
from kvplan.prefixes.patterns import IDENTIFIER, TIMESTAMP, Kind, bare
from kvplan.prefixes.request import Message, Request

Fix = Callable[[Request], Request]
_FORMS: dict[Kind, re.Pattern[str]] = {"timestamp": TIMESTAMP, "id": IDENTIFIER}


class _Place(NamedTuple):
    """A piece that varies, by the message it is in and what stands around it."""

    message: int
    before: str
    after: str


def fix(cause: Cause) -> Fix | None:
    """How to mend requests of this cause; None where their log does not tell."""
    match cause.kind:
        case "tool_order":
            return lambda request: request._replace(tools=tuple(sorted(request.tools)))
        case "key_order":
            return _keys_in_order
        case "whitespace":
            return lambda request: _each_text(request, lambda i, text: (bare(text), ""))
        case "timestamp" | "id":
            return _forms_last(_FORMS[cause.kind], frozenset(one.found.message for one in cause.all))
        case "per_user" | "private_text" | "system_variants":
            places = {
                _Place(one.found.message, one.found.before, one.found.after) for one in cause.all if one.found.before or one.found.after
            }
            return _places_last(sorted(places)) if places else None
        case _:
            return None


def mended(request: Request, fixes: Iterable[Fix]) -> Request:
    """The request after all of them."""
    for one in fixes:
        request = one(request)
    return request


def _keys_in_order(request: Request) -> Request:
    tools = tuple(tool._replace(json=canonical(tool.json)) for tool in request.tools)
    messages = tuple(one._replace(extra=canonical(one.extra)) if one.extra else one for one in request.messages)
    return request._replace(tools=tools, messages=messages)


def _forms_last(pattern: re.Pattern[str], where: frozenset[int]) -> Fix:
    def parted(i: int, text: str) -> tuple[str, str]:
        if i not in where:
            return text, ""
        taken: list[str] = []

        def take(match: re.Match[str]) -> str:
            taken.append(match[0])
            return ""

        stays = pattern.sub(take, text)
        return stays, " ".join(taken)

    return lambda request: _each_text(request, parted)


def _places_last(places: list[_Place]) -> Fix:
    def parted(i: int, text: str) -> tuple[str, str]:
        taken = []
        for place in places:
            if place.message != i:
                continue
            found = text.find(place.before)
            start = found + len(place.before)
            end = (text.find(place.after, start) if place.after else len(text)) if found >= 0 else -1
            if end > start:
                taken.append(text[start:end])
                text = text[:start] + text[end:]
        return text, "\n".join(taken)

    return lambda request: _each_text(request, parted)


def _each_text(request: Request, parted: Callable[[int, str], tuple[str, str]]) -> Request:
    """The request with each text parted in what stays and what goes to the end of the prompt."""
    if request.text is not None:
        stays, goes = parted(0, request.text)
        return request._replace(text=stays + goes)
    pairs = [parted(i, message.text) for i, message in enumerate(request.messages)]
    messages = [message._replace(text=stays) for message, (stays, _) in zip(request.messages, pairs, strict=True)]
    last = messages[-1]
    messages[-1] = Message(last.role, "\n".join((last.text, *(goes for _, goes in pairs if goes))), last.extra)
    return request._replace(messages=tuple(messages))
