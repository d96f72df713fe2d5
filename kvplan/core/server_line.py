"""Where in a shell line a server starts, and what is said to it."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import chain
from typing import NamedTuple

from kvplan.core import shell
from kvplan.core.errors import RequestError


class Program(NamedTuple):
    """How a server is started: ``begins`` says how many words at the front of some name it, 0 where they don't. ``image`` tells its
    images, whose entry point is the server, ``version`` reads their tags. ``example`` is for those who start something else."""

    engine: str
    begins: Callable[[Sequence[str]], int]
    image: Callable[[str], bool]
    version: Callable[[str], str | None]
    example: str


class Started(NamedTuple):
    """The server's own words, the variables set for it, the version in its image's tag. ``bare``: there is a name and nothing else."""

    words: tuple[str, ...]
    env: Mapping[str, str]
    version: str | None
    bare: bool = False


def started(argv: Sequence[str], program: Program) -> Started:
    """The first server that a line starts. Raises RequestError where it starts none."""
    if tuple(argv) == (program.engine,):
        return Started((), {}, None, bare=True)
    env: dict[str, str] = {}
    for words in _commands(argv):
        line = shell.read(words)
        env |= line.env
        version = program.version(line.image) if line.image else None
        whole = (*line.entrypoint, *line.words)
        for i in range(len(whole)):
            if n := program.begins(whole[i:]):
                return Started(whole[i + n :], env, version)
        if line.image is not None and program.image(line.image):
            return Started(line.words, env, version)
        if whole[:1] and whole[0].startswith("--"):
            return Started(whole, env, None)
    raise RequestError(
        "bad_command", f"nothing in '{' '.join(argv[:8])}' starts {program.engine}", hint=f"paste a command such as: {program.example}"
    )


def _commands(argv: Sequence[str]) -> Iterator[tuple[str, ...]]:
    """The commands of a line, also of one that is written as one word."""
    words = tuple(argv)
    if len(words) == 1 and " " in words[0].strip():
        import shlex  # only such a line needs it

        try:
            lines = words[0].replace("\\\n", " ").splitlines()
            words = tuple(chain.from_iterable((*shlex.split(line, comments=True), ";") for line in lines))
        except ValueError as problem:
            raise RequestError("bad_command", f"the command can't be read: {problem}", hint="close the quotation") from None
    command: list[str] = []
    for word in words:
        if word in shell.ENDS or (word.endswith(";") and not word.startswith(("{", "["))):
            command += [word[:-1]] if word not in shell.ENDS else []
            if command:
                yield shell.plain(command)
            command = []
        else:
            command.append(word)
    if command:
        yield shell.plain(command)
