"""The regular expressions of ``-ot``, which llama.cpp reads as C++ does (ECMAScript, with POSIX classes)."""

import re
import warnings

_CLASSES = {
    **{"digit": "0-9", "alpha": "A-Za-z", "alnum": "A-Za-z0-9", "lower": "a-z", "upper": "A-Z", "space": r"\s", "word": r"\w"},
    **{"d": "0-9", "s": r"\s", "w": r"\w", "xdigit": "0-9A-Fa-f", "punct": r"!-/:-@\[-`{-~", "blank": r" \t"},
}


def expression(pattern: str) -> re.Pattern[str]:
    """The expression as Python's. Raises re.error for one that is none."""
    text = re.sub(r"\[:(\w+):\]", lambda found: _CLASSES.get(found[1], found[0]), pattern)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)  # a bracket in a set is just a bracket
        return re.compile(text)
