"""Shell lines that people paste: continuations, variables in front, ``bash -c`` and ``docker run`` taken off."""

import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from kvplan.core.errors import RequestError

ASSIGNMENT = re.compile(r"([A-Za-z_]\w*)=(.*)", re.DOTALL)
ENDS = ("&", "&&", "|", "||", ";")
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


class Container(NamedTuple):
    """``docker run [OPTIONS] IMAGE [ARGS]``: the words of --entrypoint, those behind the image, the variables set by options."""

    image: str
    entrypoint: tuple[str, ...]
    words: tuple[str, ...]
    env: Mapping[str, str]


def read(argv: Sequence[str]) -> Line:
    """The first command of a line. Raises RequestError for quotations that don't end and containers without an image."""
    words = _unwrapped(one_line(argv))
    env: dict[str, str] = {}
    i = 0
    while i < len(words):
        assigned = ASSIGNMENT.fullmatch(words[i])
        if assigned:
            env[assigned[1]] = assigned[2]
        elif runs_container(words[i : i + 2]):
            return _inside(container(words[i + 2 :]), env)
        elif words[i] not in ("env", "sudo", "exec", "nohup", "time"):
            break
        i += 1
    return Line(words[i:], env)


def one_line(argv: Sequence[str]) -> tuple[str, ...]:
    """The words of the first command: continuations dropped, redirections and what follows cut off."""
    return plain(argv[: next((i for i, word in enumerate(argv) if word in ENDS), len(argv))])


def plain(words: Sequence[str]) -> tuple[str, ...]:
    """One command without continuations and what is redirected."""
    kept = [word for word in words if word == "" or word.strip() not in ("", "\\")]
    cut = next((i for i, word in enumerate(kept) if word.startswith((">", "2>"))), len(kept))
    return tuple(kept[:cut])


def base(word: str) -> str:
    """A program by its name alone: no folder of either kind of system, no .exe."""
    return re.split(r"[/\\]", word)[-1].removesuffix(".exe")


def runs_container(words: Sequence[str]) -> bool:
    """Whether the words begin with ``docker run`` or its kin."""
    return len(words) > 1 and words[0] in _CONTAINERS and words[1] == "run"


def container(words: Sequence[str]) -> Container:
    """What stands behind ``docker run``. Raises RequestError where no image is named."""
    env: dict[str, str] = {}
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
    return Container(words[i], entrypoint, tuple(words[i + 1 :]), env)


def _inside(run: Container, env: Mapping[str, str]) -> Line:
    """The command that runs in a container, behind any shell there."""
    env = {**env, **run.env}
    whole = (*run.entrypoint, *run.words)
    inner = _unwrapped(whole)
    if inner == whole:
        return Line(run.words, env, run.image, run.entrypoint)
    line = read(inner)
    return line._replace(env={**env, **line.env}, image=run.image)


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
