"""Which of llama.cpp's programs a line starts, and with which words."""

import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from kvplan.core import shell
from kvplan.core.errors import RequestError
from kvplan.engines.llamacpp.settings import App

_PROGRAMS: dict[str, App] = {
    "llama-server": "server",
    "llama-cli": "cli",
    "llama-completion": "completion",
    "llama-bench": "bench",
    "llama-perplexity": "perplexity",
}
_VERBS: dict[str, App] = {"serve": "server", "server": "server", "cli": "cli", "completion": "completion", "bench": "bench"}
"""What follows the one program that holds the others, ``llama serve``."""
_OF_FULL: dict[str, App] = {
    **{"--server": "server", "-s": "server", "--run": "cli", "-r": "cli", "--run-legacy": "completion", "-l": "completion"},
    **{"--bench": "bench", "-b": "bench", "--perplexity": "perplexity", "-p": "perplexity"},
}
"""The first word for the image that holds every program. Source: llama.cpp b11434 .devops/tools.sh."""


class Launch(NamedTuple):
    """``words`` are the program's own, ``env`` the variables said in the line, ``version`` that of an image's tag."""

    app: App
    words: tuple[str, ...]
    env: Mapping[str, str]
    version: str | None = None


def launch(argv: Sequence[str]) -> Launch:
    """Takes a command line apart. Raises RequestError where nothing in it starts one of llama.cpp's programs."""
    line = shell.read(argv)
    version = image_version(line.image) if line.image else None
    words = (*line.entrypoint, *line.words)
    for i, word in enumerate(words[:3]):  # uv run, numactl and the like in front
        name = shell.base(word)
        if name in _PROGRAMS:
            return Launch(_PROGRAMS[name], words[i + 1 :], line.env, version)
        if name == "llama" and words[i + 1 : i + 2] and words[i + 1] in _VERBS:
            return Launch(_VERBS[words[i + 1]], words[i + 2 :], line.env, version)
    if line.image and not line.entrypoint:
        return _of_image(line, version)
    raise RequestError(
        "bad_command",
        f"nothing in '{' '.join(words[:8])}' starts one of llama.cpp's programs",
        hint="paste a command such as: llama-server -m model.gguf -c 8192",
    )


def _of_image(line: shell.Line, version: str | None) -> Launch:
    """What an image starts by itself. Source: llama.cpp b11434 .devops/*.Dockerfile: targets server, light and full."""
    tag = (line.image or "").partition("@")[0].rpartition(":")[2]
    if tag.startswith("light"):
        return Launch("cli", line.words, line.env, version)
    if tag.startswith("full") and line.words and line.words[0] in _OF_FULL:
        return Launch(_OF_FULL[line.words[0]], line.words[1:], line.env, version)
    return Launch("server", line.words, line.env, version)


def image_version(image: str) -> str | None:
    """The build that a tag names: ghcr.io/ggml-org/llama.cpp:server-cuda-b10236 is b10236; None for other tags and digests."""
    found = re.search(r"-b(\d{4,6})\b", image.partition("@")[0].rpartition(":")[2])
    return f"b{found[1]}" if found else None
