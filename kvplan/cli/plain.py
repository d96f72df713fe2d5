"""Reads a plain command line without click, whose import costs as much as a whole estimate.

Only lines that mean the same to click are read here; anything else (help, abbreviations, mistakes) gives None, and
click answers. A test holds the two readers against each other.
"""

from collections.abc import Sequence

from kvplan.cli.command import Command, Said


def read(command: Command, argv: Sequence[str]) -> Said | None:
    """What ``argv`` says to ``command``, or None where click must look at it."""
    options = {option.flag: option for option in command.options}
    words: list[str] = []
    values: dict[str, str] = {}
    lists: dict[str, tuple[str, ...]] = {}
    flags: set[str] = set()
    rest = list(argv)
    while rest:
        word = rest.pop(0)
        if word == "--":
            return _said(command, words, Said((), values, frozenset(flags), tuple(rest), lists))
        if not word.startswith("-") or word == "-":
            words.append(word)
            continue
        flag, equals, value = word.partition("=")
        option = options.get(flag)
        if option is None or (equals and (option.metavar is None or not flag.startswith("--"))):
            return None
        if option.metavar is None:
            flags.add(option.name)
            continue
        if not equals:
            if not rest or _is_flag(rest[0]):
                return None
            value = rest.pop(0)
        if option.choices and value not in option.choices:
            return None
        if option.many:
            lists[option.name] = (*lists.get(option.name, ()), value)
        else:
            values[option.name] = value
    return _said(command, words, Said((), values, frozenset(flags), (), lists))


def _is_flag(word: str) -> bool:
    """A dash alone is stdin, and a negative number is a value that its own option refuses in better words."""
    return word.startswith("-") and word != "-" and not word[1:2].isdigit()


def _said(command: Command, words: list[str], said: Said) -> Said | None:
    if len(words) > (0 if command.argument is None else 1) and not command.many:
        return None
    return said._replace(words=tuple(words))
