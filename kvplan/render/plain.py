"""Other people's text, such as names of files and servers, where a person's terminal or browser shows it."""

import re

CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]")


def plain(text: str) -> str:
    """``text`` with signs that steer a terminal, end a line or turn its direction shown and not sent."""
    return CONTROL.sub(lambda found: ascii(found[0])[1:-1], text)
