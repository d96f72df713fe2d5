"""Names of programs."""

import re
from functools import lru_cache


@lru_cache(maxsize=4096)
def base(word: str) -> str:
    """A program by its name alone: no folder of either kind of system, no .exe."""
    return re.split(r"[/\\]", word)[-1].removesuffix(".exe")
