"""Files of settings that a server's command names."""

import json
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain


def named(argv: Sequence[str], options: Sequence[str]) -> str | None:
    """The file that one of ``options`` names in a command, None where none does."""
    for i, word in enumerate(argv):
        option, equals, value = word.partition("=")
        if option.replace("_", "-") in options and (equals or i + 1 < len(argv)):
            return value if equals else argv[i + 1]
    return None


def without(argv: Sequence[str], options: Sequence[str]) -> tuple[tuple[str, ...], int]:
    """The command without such an option and its file, and where it stood."""
    words = list(argv)
    at = next(i for i, word in enumerate(words) if word.partition("=")[0].replace("_", "-") in options)
    del words[at : at + (1 if "=" in words[at] else 2)]
    return tuple(words), at


def as_words(content: Mapping[str, object]) -> tuple[str, ...]:
    """Settings as flags: switches that are off, and what is null, are left out."""
    return tuple(chain.from_iterable(_words(key, value) for key, value in content.items()))


def _words(key: str, value: object) -> Iterator[str]:
    if value is None or value is False:
        return
    yield f"--{key}"
    if isinstance(value, list):
        yield from (str(item) for item in value)
    elif value is not True:
        yield json.dumps(value) if isinstance(value, dict) else str(value)
