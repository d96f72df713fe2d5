"""What dates, ids and people look like in prompts."""

import re
from typing import Literal, NamedTuple

Kind = Literal["timestamp", "id", "per_user", "private_text", "tool_order", "key_order", "system_variants", "front_cut", "whitespace"]
"""What breaks a prefix."""

_MONTH = r"(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)[a-z]*"
_WEEKDAY = r"(?:Mon|Tue|Tues|Wed|Wednes|Thu|Thurs|Fri|Sat|Satur|Sun)(?:day)?"
_CLOCK = r"\d{1,2}:\d{2}(?::\d{2}(?:[.,]\d+)?)?(?: ?[AaPp][Mm])?(?: ?(?:Z|UTC|GMT|[+-]\d{2}:?\d{2}))?"
_DAY = (
    rf"(?:\d{{4}}-\d{{2}}-\d{{2}}|\d{{1,2}}[./]\d{{1,2}}[./]\d{{2,4}}"
    rf"|{_MONTH} \d{{1,2}}(?:st|nd|rd|th)?,? \d{{4}}|\d{{1,2}} {_MONTH},? \d{{4}})"
)
TIMESTAMP = re.compile(
    rf"\b(?=[\dADFJMNOSTW])(?:(?:{_WEEKDAY},? )?{_DAY}(?:(?:T|,? (?:at )?){_CLOCK})?"
    rf"|{_CLOCK}|{_WEEKDAY}|1[5-9]\d{{8}}(?:\d{{3}}|\.\d+)?)(?![\w:])"
)
"""Days, times of day, seconds since 1970 from 2017 on."""

IDENTIFIER = re.compile(
    r"\b(?=[\w#-]{5})(?:[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}"  # a UUID
    r"|[A-Za-z]+(?=[\w-]*\d)(?:[-_]\w+)*[-_]\w{4,}"  # req_8f3a91
    r"|(?=[a-f]*\d)[0-9a-f]{8,}"  # a hash
    r"|(?=\w*\d)(?=\w*[A-Za-z])\w{16,}"  # a nonce
    r"|#?\d{5,})(?!\w)"
)
"""UUIDs, hashes, nonces, long numbers."""

PERSON = re.compile(
    r"(?i)\b(?:user|name|customer|account|e-?mail|tenant|member|employee|patient|client|phone|address|locale|profile)\w*\b[^\n]{0,24}?(?:[:=]|\bis\b)"
    r"|\b(?:hi|hello|dear|greet) |[\w.]+@[\w-]+\."
)
"""A line that names somebody."""

BY_FORM: tuple[tuple[Kind, re.Pattern[str]], ...] = (("timestamp", TIMESTAMP), ("id", IDENTIFIER))
_BEHIND = 64


class Span(NamedTuple):
    """A piece of a text."""

    start: int
    end: int


def covering(pattern: re.Pattern[str], text: str, at: int) -> Span | None:
    """The match of ``pattern`` in which the sign ``at`` stands, or that ends there."""
    for match in pattern.finditer(text, max(0, at - _BEHIND), at + _BEHIND * 2):
        if match.start() > at:
            return None
        if match.end() >= at:
            return Span(*match.span())
    return None


def bare(text: str) -> str:
    """``text`` with all white space in one form: one blank between words."""
    return " ".join(text.split())
