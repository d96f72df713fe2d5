"""Names of programs."""

import re


def base(word: str) -> str:
    """A program by its name alone: no folder of either kind of system, no .exe."""
    return re.split(r"[/\\]", word)[-1].removesuffix(".exe")
