"""Shell lines that people paste: continuations, variables in front, ``bash -c`` and ``docker run`` taken off."""

import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from kvplan.core.errors import RequestError

_ASSIGNMENT = re.compile(r"([A-Za-z_]\w*)=(.*)", re.DOTALL)
_ENDS = ("&", "&&", "|", "||", ";", ">", ">>", "2>&1")
_SHELLS = ("bash", "sh", "zsh")
_CONTAINERS = ("docker", "podman", "nerdctl")
_BARE = frozenset(
    (
        *("-d", "--detach", "-i", "--interactive", "-t", "--tty", "-it", "-ti", "-dit", "-itd", "-P", "--publish-all", "-q", "--quiet"),
        *("--rm", "--init", "--privileged", "--read-only", "--no-healthcheck", "--oom-kill-disable", "--replace", "--sig-proxy"),
    )
)
"""Options of docker run that take no value. Source: docker 28 docs, `docker container run`."""


class Line(NamedTuple):
    """A command: its words, the variables set for it, and the image in whose container it runs.

    ``entrypoint`` are the words of --entrypoint, which stand before those of the command.
    """

    words: tuple[str, ...]
    env: Mapping[str, str]
    image: str | None = None
    entrypoint: tuple[str, ...] = ()


def read(argv: Sequence[str]) -> Line:
    """The first command of a line. Raises RequestError for quotations that don't end and containers without an image."""
    words = _unwrapped(one_line(argv))
    env: dict[str, str] = {}
    i = 0
    while i < len(words):
        assigned = _ASSIGNMENT.fullmatch(words[i])
        if assigned:
            env[assigned[1]] = assigned[2]
        elif words[i] in _CONTAINERS and words[i + 1 : i + 2] == ("run",):
            return _container(words[i + 2 :], env)
        elif words[i] not in ("env", "sudo", "exec", "nohup", "time"):
            break
        i += 1
    return Line(words[i:], env)


def one_line(argv: Sequence[str]) -> tuple[str, ...]:
    """The words of the first command: continuations dropped, redirections and what follows cut off."""
    words = [word for word in argv if word == "" or word.strip() not in ("", "\\")]
    cut = next((i for i, word in enumerate(words) if word in _ENDS or word.startswith((">", "2>"))), len(words))
    return tuple(words[:cut])


def base(word: str) -> str:
    """A program by its name alone: no folder of either kind of system, no .exe."""
    return re.split(r"[/\\]", word)[-1].removesuffix(".exe")


def _container(words: Sequence[str], env: dict[str, str]) -> Line:
    """``docker run [OPTIONS] IMAGE [ARGS]``."""
    entrypoint: tuple[str, ...] = ()
    i = 0
    while i < len(words) and words[i].startswith("-"):
        option, equals, value = words[i].partition("=")
        if re.match(r"-e.", option) and not option.startswith("--"):  # -eVAR=x
            option, equals, value = "-e", "=", words[i][2:]
        if not equals and option not in _BARE:
            i += 1
            value = words[i] if i < len(words) else ""
        if option in ("-e", "--env"):
            name, _, said = value.partition("=")
            env[name] = said
        elif option == "--entrypoint":
            entrypoint = tuple(value.split())
        i += 1
    if i >= len(words):
        raise RequestError("bad_command", "docker run: no image was named", hint="docker run IMAGE [ARGUMENTS]")
    inner = _unwrapped((*entrypoint, *words[i + 1 :]))
    if inner != (*entrypoint, *words[i + 1 :]):
        line = read(inner)
        return line._replace(env=env | dict(line.env), image=words[i])
    return Line(tuple(words[i + 1 :]), env, words[i], entrypoint)


def _unwrapped(words: tuple[str, ...]) -> tuple[str, ...]:
    """The words that a shell would run, and those of a command written as one."""
    if len(words) > 2 and base(words[0]) in _SHELLS and words[1].lstrip("-").rstrip("c") in ("", "l", "e", "eu", "x"):
        words = words[2:3]
    if len(words) != 1 or " " not in words[0]:
        return words
    import shlex  # only such a line needs it

    try:
        return one_line(shlex.split(words[0], comments=True))
    except ValueError as problem:
        raise RequestError("bad_command", f"the command can't be read: {problem}", hint="close the quotation") from None
