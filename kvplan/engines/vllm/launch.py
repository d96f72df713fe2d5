"""What stands in front of vLLM's own words: variables, uv, docker run and the rest of a shell line."""

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from typing import Literal, NamedTuple

from kvplan.core import shell
from kvplan.core.errors import RequestError

Entry = Literal["serve", "api_server", "offline", "none"]


class Launch(NamedTuple):
    """How vLLM is started: ``words`` are its own, ``env`` the variables said in the line, ``version`` that of an image's tag."""

    entry: Entry
    words: tuple[str, ...]
    env: Mapping[str, str]
    version: str | None = None


_MODULES = {"vllm.entrypoints.openai.api_server": "api_server", "vllm.entrypoints.api_server": "api_server"}
_CALLS = ("LLM", "vllm.LLM")
_CALL = re.compile(r"(?:^|[\s=])(?:vllm\.)?LLM\(")
_YEARS = 20
_PROGRAMS = ("vllm", "vllm.entrypoints.cli.main")


def launch(argv: Sequence[str]) -> Launch:
    """Takes a whole command line apart: of several commands the first that starts vLLM, with the variables said before it.

    Arguments alone are those of a container whose entry point is the server. Raises RequestError where nothing starts a server
    or an ``LLM(…)``.
    """
    words = _unwrapped(tuple(argv))
    if words == ("vllm",):
        return Launch("none", (), {})
    env: dict[str, str] = {}
    for command in _commands(words):
        found = _started(command, env)
        if found is not None:
            return found
    if words and words[0].startswith("--"):
        return Launch("api_server", next(_commands(words)), env)
    raise RequestError(
        "bad_command",
        f"nothing in '{' '.join(words[:8])}' starts a vLLM server",
        hint="paste a command such as: vllm serve MODEL --max-model-len 8192",
    )


def _started(words: Sequence[str], env: dict[str, str]) -> Launch | None:
    """What one command starts, None where it is not vLLM; its variables join ``env``."""
    for i, word in enumerate(words):
        assigned = shell.ASSIGNMENT.fullmatch(word)
        if _CALL.search(word) or word in _CALLS:
            return Launch("offline", tuple(words[i:]), env)
        if assigned and not word.startswith("-"):
            env[assigned[1]] = assigned[2]
        elif shell.runs_container(words[i : i + 2]):
            return _in_container(shell.container(words[i + 2 :]), env)
        elif word in _MODULES:
            return Launch("api_server", tuple(words[i + 1 :]), env)
        elif word == "serve" and (i == 0 or _base(words[i - 1]) in _PROGRAMS):
            return Launch("serve", tuple(words[i + 1 :]), env)
    return None


def _in_container(run: shell.Container, env: Mapping[str, str]) -> Launch:
    """An image of vLLM starts its server unless the arguments name a program."""
    env = {**env, **run.env}
    version, rest = image_version(run.image), (*run.entrypoint, *run.words)
    if rest and ("vllm" in (_base(word) for word in rest[:1]) or any(word in _MODULES for word in rest) or _shell(rest)):
        inner = launch(rest)
        return inner._replace(env={**env, **inner.env}, version=version)
    return Launch("api_server", rest, env, version)


def image_version(image: str) -> str | None:
    """The version that an image's tag names: vllm/vllm-openai:v0.11.0-cu130 is 0.11.0.

    None for latest, digests, other images, NVIDIA's, whose tags are a year and a month, and of LMCache and Dynamo, which number these.
    """
    name, _, tag = image.partition("@")[0].rpartition(":")
    found = re.match(r"v?(\d+\.\d+(?:\.\d+)?(?:\.post\d+|rc\d+)?)(?![\d.])", tag)
    if found is None or "vllm" not in name or re.search("lmcache|dynamo", name) or "/" in tag or int(found[1].partition(".")[0]) >= _YEARS:
        return None
    return found[1]


def _commands(words: Sequence[str]) -> Iterator[tuple[str, ...]]:
    """The commands of a line, without continuations and redirections."""
    command: list[str] = []
    for word in words:
        if word in shell.ENDS or (word.endswith(";") and not word.startswith(("{", "["))):
            yield shell.plain((*command, word.removesuffix(";")) if word not in shell.ENDS else command)
            command = []
        else:
            command.append(word)
    yield shell.plain(command)


def _shell(words: Sequence[str]) -> bool:
    """Whether ``bash -c "…"`` and its kin run the rest."""
    return len(words) > 2 and _base(words[0]) in ("bash", "sh", "zsh") and words[1].lstrip("-").rstrip("c") in ("", "l", "e", "eu", "x")


def _unwrapped(words: tuple[str, ...]) -> tuple[str, ...]:
    """The words that a shell would run, and those of a command written as one, whose lines are commands of their own."""
    if _shell(words):
        words = words[2:3]
    if len(words) != 1 or not words[0].strip().count(" ") or _CALL.search(words[0]):
        return words
    import shlex  # only such a line needs it

    text = words[0].replace("\\\n", " ")
    try:
        return tuple(chain.from_iterable((*shlex.split(line, comments=True), ";") for line in text.splitlines()))
    except ValueError:  # a quotation may span lines
        pass
    try:
        return tuple(shlex.split(text, comments=True))
    except ValueError as problem:
        raise RequestError("bad_command", f"the command can't be read: {problem}", hint="close the quotation") from None


def _base(word: str) -> str:
    return word.rpartition("/")[2]
