"""A text as the words that a shell would make of it."""

import re
import shlex

_ENDLESS = re.compile(r"[^\s]{32768}")  # shlex takes time with the square of a word's length


def words(text: str) -> list[str]:
    """The words without their quotes; where quotes are left open, or a word never ends, what blanks divide."""
    if _ENDLESS.search(text):
        return text.split()
    try:
        return shlex.split(text)
    except ValueError:
        return text.split()
