"""llama.cpp: llama-server and llama-cli, their images, llama-cpp-python's server. Source: llama.cpp b11434 .devops, tools/server/README.md;
llama-cpp-python 0.3 llama_cpp/server/settings.py."""

import re
from collections.abc import Sequence
from itertools import pairwise

from kvplan.checker.program import base
from kvplan.checker.server import Server, Word
from kvplan.checker.table import Table
from kvplan.engines.llamacpp.flags import memory_flags
from kvplan.engines.llamacpp.known import others
from kvplan.engines.llamacpp.launch import image_version
from kvplan.engines.llamacpp.rules import rules_for

ENGINE = "llama.cpp"
IMAGES = re.compile(r"(?:.*/)?[\w.-]*(?:llama\.cpp|llama-?cpp|llama-server)[\w.-]*")
OWN = re.compile(r"(?:.*/)?(?:ggml-org|ggerganov)/llama\.cpp")
"""The project's own images: forks have flags of their own."""
_PROGRAMS = ("llama-server", "llama-cli")
_OLD = ("server", "main")
"""What the programs were called before 2024-06; a model says that it is they."""
_PYTHON = "llama_cpp.server"
_OF_FULL = ("--server", "-s", "--run")
_FIELDS = {
    **dict.fromkeys(("m", "model", "hf", "hfr", "hf-repo", "model-url", "mu", "docker-repo", "dr"), "model"),
    **dict.fromkeys(("c", "ctx-size", "n-ctx"), "ctx_tokens"),
    **dict.fromkeys(("np", "parallel"), "concurrency"),
    **dict.fromkeys(("ctk", "cache-type-k", "type-k"), "kv_dtype"),
}
TABLE = Table(
    flags=_FIELDS,
    env={
        "LLAMA_ARG_MODEL": "model",
        "LLAMA_ARG_HF_REPO": "model",
        "LLAMA_ARG_CTX_SIZE": "ctx_tokens",
        "LLAMA_ARG_N_PARALLEL": "concurrency",
        "LLAMA_ARG_CACHE_TYPE_K": "kv_dtype",
    },
    switches=frozenset(
        spelled.lstrip("-")
        for flag in memory_flags().values()
        for spelled in (*(flag.spellings if not flag.n_values else ()), *flag.opposites)
    )
    | frozenset(spelled.lstrip("-") for spelled, other in others().items() if not other.n_values),
    bearing=frozenset(spelled.lstrip("-") for flag in memory_flags().values() for spelled in flag.spellings),
    telling=frozenset(("n-gpu-layers", "ngl", "ctx-size", "ctk", "ctv", "cache-type-k", "ubatch-size", "hf-repo", "hf", "gpu-layers")),
)


def begins(words: Sequence[str]) -> int:
    """A program of llama.cpp with a setting, by its old names only with a GGUF file; the server of llama-cpp-python."""
    name = base(words[0])
    if name in _PROGRAMS and any(word.startswith("-") for word in words[1:]):
        return 1
    if name == "llama" and list(words[1:2]) in (["serve"], ["server"]):
        return 2
    if name in _OLD and any(word.endswith(".gguf") for word in words[1:]) and any(word in ("-m", "--model") for word in words[1:]):
        return 1
    return int(words[0] == _PYTHON)


def version(image: str) -> str | None:
    """The build that the image's tag names."""
    return image_version(image)


def check_version(version: str) -> None:
    """Raises RequestError for a build that is not modeled."""
    rules_for(version)


_OF_PYTHON = {
    **{"--model": "-m", "--n_ctx": "-c", "--n_gpu_layers": "-ngl", "--n_batch": "-b", "--n_ubatch": "-ub", "--main_gpu": "-mg"},
    **{"--hf_model_repo_id": "-hf", "--tensor_split": "-ts"},
}
"""Settings of llama-cpp-python's server and what llama.cpp calls them."""


def _translated(words: Sequence[str]) -> list[str]:
    """The words of llama-cpp-python's server as llama.cpp's, as far as they bear on memory; other words as they are."""
    if not any(word.partition("=")[0] in _OF_PYTHON and "_" in word for word in words):
        return list(words)
    split = [part for word in words for part in (word.split("=", 1) if word.startswith("--") else [word])]
    kept = [(name, value) for name, value in pairwise(split) if name in _OF_PYTHON]
    return [part for name, value in kept for part in (_OF_PYTHON[name], "all" if (name, value) == ("--n_gpu_layers", "-1") else value)]


def line(server: Server, words: Sequence[Word]) -> tuple[str, ...]:
    """The words as those of ``llama-server``, variables in front; the first word for the image of all programs is left out."""
    env = [f"{name}={value.text}" for name, value in server.env.items() if name.startswith("LLAMA_ARG_")]
    said = _translated([word.text for word in words])
    return (*env, "llama-server", *(said[1:] if said[:1] and said[0] in _OF_FULL else said))
