"""Ollama's own words: ``ollama run``, ``ollama serve``, its variables, and the parameters of a Modelfile.

Source: ollama 0.34 envconfig/config.go, api/types.go (Options), cmd/cmd.go.
"""

import re
from collections.abc import Iterator, Mapping, Sequence

from kvplan.core import shell
from kvplan.core.engine import Flag, Parsed
from kvplan.core.errors import RequestError, did_you_mean
from kvplan.core.ledger import Finding
from kvplan.engines.llamacpp import modelfile
from kvplan.engines.llamacpp.command import APP
from kvplan.engines.llamacpp.flags import CACHE_TYPES

NAME = "ollama"
VARIABLES = ("OLLAMA_CONTEXT_LENGTH", "OLLAMA_NUM_PARALLEL", "OLLAMA_GPU_OVERHEAD", "OLLAMA_KV_CACHE_TYPE", "OLLAMA_FLASH_ATTENTION")
NUMBERS = ("num_ctx", "num_batch", "num_gpu", "main_gpu", "draft_num_predict")
"""Parameters that bear on memory and are whole numbers; ``use_mmap`` is true or false."""
OTHERS = (
    *("num_keep", "num_thread", "num_predict", "seed", "stop", "temperature", "top_k", "top_p", "min_p", "typical_p", "repeat_last_n"),
    *("repeat_penalty", "presence_penalty", "frequency_penalty", "mirostat", "mirostat_eta", "mirostat_tau", "penalize_newline", "numa"),
    *("low_vram", "f16_kv", "vocab_only", "use_mlock"),
)
_PARAMETER = re.compile(r"([a-z][a-z0-9_]+)=(.*)", re.DOTALL)
_BARE = ("--verbose", "--nowordwrap", "--insecure", "--hidethinking", "--truncate", "--experimental")


def parse(argv: Sequence[str], env: Mapping[str, str], version: str) -> Parsed:
    """Read a command; ``NAME=VALUE`` behind the model stands for a PARAMETER of its Modelfile.

    ``version`` is empty where the user named none: then an image's tag does. Raises RequestError for other commands of Ollama, and for
    values that it does not take.
    """
    if tuple(argv) == (NAME,):
        return Parsed(NAME, version or None, None)
    line = shell.read(argv)
    words = (*line.entrypoint, *line.words)
    start = next((i for i, word in enumerate(words[:3]) if shell.base(word) == NAME), None)
    rest = () if start is None else words[start + 1 :]
    verb = rest[0] if rest else "serve"
    if verb not in ("run", "serve") or (start is None and line.image is None):
        raise RequestError(
            "bad_command",
            f"nothing in '{' '.join(words[:8])}' loads a model with Ollama",
            hint="paste a command such as: OLLAMA_CONTEXT_LENGTH=8192 ollama run MODEL",
        )
    model, parameters, ignored = _words(rest[1:])
    said = {**env, **line.env}
    flags = (Flag(APP, NAME), *_variables(said), *(Flag(name, _checked(name, value)) for name, value in parameters if name not in OTHERS))
    left = tuple(Flag(name, value) for name, value in said.items() if name.startswith("OLLAMA_") and name not in VARIABLES)
    return Parsed(
        engine=NAME,
        version=version or image_version(line.image) or None,
        model=None if model is None else model.removeprefix("https://").removeprefix("hf.co/").removeprefix("huggingface.co/"),
        flags=tuple(flag for flag in flags if flag.value or flag.name in VARIABLES),
        ignored=(*left, *ignored, *(Flag(name, value) for name, value in parameters if name in OTHERS)),
        findings=tuple(_strange(parameters)),
    )


def modelfile_name(argv: Sequence[str]) -> str | None:
    """The file of ``ollama create NAME -f FILE``, None for other commands."""
    words = shell.read(argv).words
    if len(words) < 2 or shell.base(words[0]) != NAME or words[1] != "create":
        return None
    named = [words[i + 1] for i, word in enumerate(words[:-1]) if word in ("-f", "--file")]
    return named[-1] if named else "Modelfile"


def with_modelfile(argv: Sequence[str], text: str) -> tuple[str, ...]:
    """The command that runs what the file makes."""
    found = modelfile.read(text)
    variables = tuple(f"{name}={value}" for name, value in shell.read(argv).env.items())
    said = (*found.parameters, *(("adapter", name) for name in found.adapters))
    return (*variables, NAME, "run", found.model, *(f"{name}={value}" for name, value in said))


def image_version(image: str | None) -> str | None:
    """ollama/ollama:0.34.2-rocm is 0.34.2."""
    found = re.match(r"v?(\d+\.\d+\.\d+)", (image or "").partition("@")[0].rpartition(":")[2])
    return found[1] if found else None


def _words(words: Sequence[str]) -> tuple[str | None, list[tuple[str, str]], list[Flag]]:
    """The model, the parameters, and the rest: options and the prompt."""
    model: str | None = None
    parameters: list[tuple[str, str]] = []
    ignored: list[Flag] = []
    rest = list(words)
    while rest:
        word = rest.pop(0)
        found = _PARAMETER.fullmatch(word)
        if word.startswith("--"):
            ignored.append(Flag(word, rest.pop(0) if "=" not in word and word not in _BARE and rest else ""))
        elif model is None:
            model = word
        elif found:
            parameters.append((found[1], found[2]))
        else:
            ignored.append(Flag("prompt", word))
    return model, parameters, ignored


def _variables(said: Mapping[str, str]) -> Iterator[Flag]:
    """Ollama's variables as numbers and words, and llama.cpp's own, which its runner inherits."""
    for name in VARIABLES:
        value = said.get(name, "").strip("\"' ")
        if value:
            yield Flag(name, _checked(name, value))
    for name, value in said.items():
        if name.startswith("LLAMA_ARG_"):
            yield Flag(name, value)


def _checked(name: str, value: str) -> str:
    """Raises RequestError for what Ollama would not take: it logs it and goes on with its default."""
    if name in NUMBERS or name in VARIABLES[:3]:
        if not re.fullmatch(r"-?\d{1,18}", value, re.ASCII):
            raise RequestError("bad_setting", f"ollama: {name}={value}: expected a whole number", hint=f"{name}=8192")
        return str(int(value))
    if name in ("use_mmap", "OLLAMA_FLASH_ATTENTION"):
        low = value.lower()
        if low not in ("1", "t", "true", "0", "f", "false"):
            raise RequestError("bad_setting", f"ollama: {name}={value}: expected true or false", hint=f"{name}=1")
        return "true" if low in ("1", "t", "true") else "false"
    if name == "OLLAMA_KV_CACHE_TYPE":
        if value.lower() not in CACHE_TYPES:
            raise RequestError("bad_setting", f"ollama: {name}={value}: expected a type of the cache", hint="f16, q8_0 or q4_0")
        return value.lower()
    return value


def _strange(parameters: Sequence[tuple[str, str]]) -> Iterator[Finding]:
    known = (*NUMBERS, "use_mmap", "adapter", *OTHERS)
    for name, _ in parameters:
        if name not in known:
            yield Finding("KV210", "warning", f"Ollama knows no parameter '{name}'", did_you_mean(name, known))
