"""Ollama: ``ollama serve`` and ``ollama run``, its image and its variables. Source: ollama 0.34 envconfig/config.go, cmd/cmd.go."""

import re
from collections.abc import Sequence

from kvplan.checker.program import base
from kvplan.checker.server import Server, Word
from kvplan.checker.table import Table
from kvplan.engines.llamacpp.ollama_command import NUMBERS, VARIABLES, image_version

ENGINE = "ollama"
IMAGES = re.compile(r"(?:.*/)?ollama(?:-rocm|-cuda)?")
_PARAMETER = re.compile(r"[a-z_]+=.+")
TABLE = Table(
    flags={},
    env={"OLLAMA_CONTEXT_LENGTH": "ctx_tokens", "OLLAMA_NUM_PARALLEL": "concurrency", "OLLAMA_KV_CACHE_TYPE": "kv_dtype"},
    switches=frozenset(("verbose", "nowordwrap", "insecure", "hidethinking")),
    positional=True,
    bearing=frozenset((*NUMBERS, *VARIABLES)),
)


def begins(words: Sequence[str]) -> int:
    """``ollama serve``, and ``ollama run`` with a model."""
    if base(words[0]) != "ollama":
        return 0
    if list(words[1:2]) == ["serve"]:
        return 2
    return 2 if list(words[1:2]) == ["run"] and len(words) > 2 and not words[2].startswith("-") else 0


def version(image: str) -> str | None:
    """The version that the image's tag names."""
    return image_version(image)


def line(server: Server, words: Sequence[Word]) -> tuple[str, ...]:
    """Variables, the model, and the parameters of its Modelfile; without a model the server alone."""
    env = [f"{name}={value.text}" for name, value in server.env.items() if name.startswith(("OLLAMA_", "LLAMA_ARG_"))]
    said = [word.text for word in words if word.text not in ("serve", "run")]
    model = server.model.text if server.model else next((word for word in said if not word.startswith("-")), None)
    if model is None:
        return (*env, "ollama", "serve")
    return (*env, "ollama", "run", model, *(word for word in said if _PARAMETER.fullmatch(word) and word != model))
