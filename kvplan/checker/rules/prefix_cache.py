"""KV512: the prefix cache is turned off."""

from collections.abc import Iterator

from kvplan.checker.case import Case, Found
from kvplan.checker.wording import found

_OFF = ("--no-enable-prefix-caching", "--disable-radix-cache", "--no-cache-prompt")


def check(case: Case) -> Iterator[Found]:
    """A note: shared system prompts and earlier turns of a chat are then computed again each time."""
    if case.says(*_OFF):
        message = "the prefix cache is off: a shared system prompt, and each turn of a chat, is computed again for every request"
        yield found("KV512", "note", case, _OFF, message, "leave the flag out, unless no two requests begin alike")
