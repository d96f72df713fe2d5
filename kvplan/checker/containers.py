"""``docker run`` and its kin in a script: the image, what runs in it, and what it gets of the machine.

Source: docker 28 docs, `docker container run`; NVIDIA container toolkit docs, "Enumeration" (--gpus, NVIDIA_VISIBLE_DEVICES).
"""

import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from kvplan.checker.program import base
from kvplan.checker.server import Gpus, Word

_ENGINES = ("docker", "podman", "nerdctl", "nvidia-docker")
_BARE = frozenset(
    (
        *("-d", "--detach", "-i", "--interactive", "-t", "--tty", "-P", "--publish-all", "-q", "--quiet", "--rm", "--init"),
        *("--privileged", "--read-only", "--no-healthcheck", "--oom-kill-disable", "--replace", "--sig-proxy", "--disable-content-trust"),
    )
)
_SHORT_BARE = re.compile(r"-[ditPq]+")
_VISIBLE = ("CUDA_VISIBLE_DEVICES", "NVIDIA_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES")


class Container(NamedTuple):
    """What a line that starts a container says; ``words`` are those of the entrypoint and behind the image."""

    image: Word
    words: tuple[Word, ...]
    env: dict[str, Word]
    name: str | None
    gpus: Gpus
    shared_memory: Word | None
    host_memory: Word | None


def read(words: Sequence[Word]) -> Container | None:
    """The container that a command starts, None where it starts none or names no image."""
    start = _run(words)
    if not start:
        return None
    options, i = _options(words, start)
    if i >= len(words):
        return None
    said = dict(options)
    entrypoint = said.get("--entrypoint")
    front = tuple(entrypoint._replace(text=part) for part in entrypoint.text.split()) if entrypoint else ()
    env = {name: value for option, value in options if option in ("-e", "--env") for name, value in _variable(value)}
    shm = said.get("--shm-size") or (said["--ipc"]._replace(text="unbounded") if "host" in said.get("--ipc", Word("", 1)).text else None)
    return Container(
        words[i],
        (*front, *words[i + 1 :]),
        env,
        said["--name"].text if "--name" in said else None,
        _gpus(said.get("--gpus") or said.get("--device"), env),
        shm,
        said.get("--memory") or said.get("-m"),
    )


def _options(words: Sequence[Word], start: int) -> tuple[list[tuple[str, Word]], int]:
    """Options and their values, and the place behind them."""
    options: list[tuple[str, Word]] = []
    i = start
    while i < len(words) and words[i].text.startswith("-"):
        option, equals, inline = words[i].text.partition("=")
        value = words[i]._replace(text=inline)
        short = re.fullmatch(r"(-[emvpwuh])(.+)", words[i].text)
        if short and not equals:
            option, value = short[1], words[i]._replace(text=short[2])
        elif short and option.startswith("-e"):
            option, value = "-e", words[i]._replace(text=words[i].text[2:])
        elif not equals and option not in _BARE and not _SHORT_BARE.fullmatch(option):
            i += 1
            value = words[i] if i < len(words) else value
        options.append((option, value))
        i += 1
    return options, i


def visible(env: Mapping[str, Word]) -> int | None:
    """How many cards the variables let a process see, None where they say nothing that can be counted."""
    for name in _VISIBLE:
        said = env[name].text.strip() if name in env else ""
        if said in ("none", "void", "-1"):
            return 0
        if re.fullmatch(r"(?:\d+|(?:GPU|MIG)-[\w-]+)(?:\s*,\s*(?:\d+|(?:GPU|MIG)-[\w-]+))*", said):
            return said.count(",") + 1
    return None


def _run(words: Sequence[Word]) -> int:
    """The place behind ``docker run``, 0 where there is none."""
    for i in range(min(len(words), 6)):
        if base(words[i].text) in _ENGINES:
            rest = [word.text for word in words[i + 1 : i + 3]]
            return i + 2 if rest[:1] in (["run"], ["create"]) else i + 3 if rest == ["container", "run"] else 0
    return 0


def _variable(word: Word) -> list[tuple[str, Word]]:
    name, equals, value = word.text.partition("=")
    return [(name, word._replace(text=value))] if equals else []


def _gpus(said: Word | None, env: Mapping[str, Word]) -> Gpus:
    """``--gpus 2``, ``--gpus all``, ``--gpus '"device=0,1"'``, ``--device nvidia.com/gpu=0``."""
    text = said.text.strip("\"' ") if said else ""
    devices = re.search(r"(?:device|nvidia\.com/gpu)=([\w,:.-]+)", text)
    counted = re.fullmatch(r"(?:count=)?(\d+)", text)
    if counted:
        return Gpus(int(counted[1]))
    if devices and devices[1] != "all":
        return Gpus(devices[1].rstrip(",").count(",") + 1)
    return Gpus(visible(env))
