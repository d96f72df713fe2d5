"""A command as a shell takes it."""

import shlex
from collections.abc import Sequence


def line(words: Sequence[str]) -> str:
    """The words on one line, quoted where they need it."""
    return shlex.join(words)
