"""What stands in front of vLLM's own words: variables, uv, docker run and the rest of a shell line."""

import re
from collections.abc import Mapping, Sequence
from typing import Literal, NamedTuple

from kvplan.core.errors import RequestError

Entry = Literal["serve", "api_server", "offline", "none"]


class Launch(NamedTuple):
    """How vLLM is started: ``words`` are its own, ``env`` the variables said in the line, ``version`` that of an image's tag."""

    entry: Entry
    words: tuple[str, ...]
    env: Mapping[str, str]
    version: str | None = None


_ASSIGNMENT = re.compile(r"([A-Za-z_]\w*)=(.*)", re.DOTALL)
_MODULES = {"vllm.entrypoints.openai.api_server": "api_server", "vllm.entrypoints.api_server": "api_server"}
_ENDS = ("&", "&&", "|", "||", ";", ">", ">>", "2>&1")
_CALLS = ("LLM", "vllm.LLM")
_CONTAINERS = ("docker", "podman", "nerdctl")
_BARE = frozenset(
    (
        *("-d", "--detach", "-i", "--interactive", "-t", "--tty", "-it", "-ti", "-dit", "-itd", "-P", "--publish-all", "-q", "--quiet"),
        *("--rm", "--init", "--privileged", "--read-only", "--no-healthcheck", "--oom-kill-disable", "--replace", "--sig-proxy"),
    )
)
"""Options of docker run that take no value. Source: docker 28 docs, `docker container run`."""


def launch(argv: Sequence[str]) -> Launch:
    """Takes a whole command line apart.

    Raises RequestError where nothing in it starts a server or an ``LLM(…)``.
    """
    words = _unwrapped(_one_line(argv))
    if words == ("vllm",):
        return Launch("none", (), {})
    env: dict[str, str] = {}
    for i, word in enumerate(words):
        assigned = _ASSIGNMENT.fullmatch(word)
        if assigned and not word.startswith("-"):
            env[assigned[1]] = assigned[2]
        elif word in _CONTAINERS and words[i + 1 : i + 2] == ("run",):
            return _in_container(words[i + 2 :], env)
        elif word.startswith("LLM(") or word.startswith("vllm.LLM(") or word in _CALLS:
            return Launch("offline", words[i:], env)
        elif word in _MODULES:
            return Launch("api_server", words[i + 1 :], env)
        elif _base(word) == "vllm" and words[i + 1 : i + 2] == ("serve",):
            return Launch("serve", words[i + 2 :], env)
    raise RequestError(
        "bad_command",
        f"nothing in '{' '.join(words[:8])}' starts a vLLM server",
        hint="paste a command such as: vllm serve MODEL --max-model-len 8192",
    )


def _in_container(words: Sequence[str], env: dict[str, str]) -> Launch:
    """``docker run [OPTIONS] IMAGE [ARGS]``: an image of vLLM starts its server unless the arguments name a program."""
    entrypoint: list[str] = []
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
            entrypoint = value.split()
        i += 1
    if i >= len(words):
        raise RequestError("bad_command", "docker run: no image was named", hint="docker run IMAGE [ARGUMENTS]")
    version, rest = image_version(words[i]), (*entrypoint, *words[i + 1 :])
    if rest and ("vllm" in (_base(word) for word in rest[:1]) or any(word in _MODULES for word in rest) or _shell(rest)):
        inner = launch(rest)
        return inner._replace(env=env | dict(inner.env), version=version)
    return Launch("api_server", tuple(rest), env, version)


def image_version(image: str) -> str | None:
    """The version that an image's tag names: vllm/vllm-openai:v0.11.0-cu130 is 0.11.0; None for latest, digests and other images."""
    name, _, tag = image.partition("@")[0].rpartition(":")
    found = re.match(r"v?(\d+\.\d+(?:\.\d+)?(?:\.post\d+|rc\d+)?)(?![\d.])", tag)
    return found[1] if found and "vllm" in name and "/" not in tag else None


def _one_line(argv: Sequence[str]) -> tuple[str, ...]:
    """The words of the first command: continuations dropped, redirections and what follows cut off."""
    words = [word for word in argv if word == "" or word.strip() not in ("", "\\")]
    cut = next((i for i, word in enumerate(words) if word in _ENDS or word.startswith((">", "2>"))), len(words))
    return tuple(words[:cut])


def _shell(words: Sequence[str]) -> bool:
    """Whether ``bash -c "…"`` and its kin run the rest."""
    return len(words) > 2 and _base(words[0]) in ("bash", "sh", "zsh") and words[1].lstrip("-").rstrip("c") in ("", "l", "e", "eu", "x")


def _unwrapped(words: tuple[str, ...]) -> tuple[str, ...]:
    """The words that a shell would run, and those of a command written as one."""
    if _shell(words):
        words = words[2:3]
    if len(words) != 1 or " " not in words[0] or words[0].startswith(("LLM(", "vllm.LLM(")):
        return words
    import shlex  # only such a line needs it

    try:
        return _one_line(shlex.split(words[0], comments=True))
    except ValueError as problem:
        raise RequestError("bad_command", f"the command can't be read: {problem}", hint="close the quotation") from None


def _base(word: str) -> str:
    return word.rpartition("/")[2]
