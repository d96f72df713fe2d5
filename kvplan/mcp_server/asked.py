"""What tools are asked with: the options of the command line, typed, with their meaning in the schema."""

import contextlib
import shlex
from collections.abc import Iterator
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, PositiveInt

from kvplan.checker.models import Sources, only_cached
from kvplan.core.errors import RequestError
from kvplan.estimator import Options

STDIN = "-"
Count = Annotated[PositiveInt | str, Field(description="a number, or text as 32k (32,768)")]


class Asked(BaseModel):
    """The input of a tool; what it does not know is refused."""

    model_config = ConfigDict(extra="forbid")


class Online(Asked):
    """A tool that may need what only the Hub knows."""

    online: bool = Field(default=False, description="ask the Hugging Face Hub about models that are not built in and not in its cache here")


class Subject(Online):
    """A model or an engine's command, what it is to serve, and on what."""

    model: str | None = Field(
        None, description="built-in id (qwen3-8b), Hub id (Qwen/Qwen3-8B), or path of a config.json, model folder, GGUF or spec file"
    )
    command: str | list[str] | None = Field(
        None, description="the engine's own command as it would be pasted: vllm serve …, llama-server …, docker run IMAGE …"
    )
    engine: str | None = Field(
        None, description="transformers, vllm, llama.cpp, ollama, sglang, tgi or tensorrt-llm; @VERSION behind it, else the newest modeled"
    )
    gpu: str | None = Field(None, description="h100-sxm, l4, h100-sxm:8, rtx-4090+rtx-3060-12")
    gpus: PositiveInt | None = Field(None, description="how many of them")
    budget: str | None = Field(None, description="instead of a GPU a device of this size, with its unit: 24GiB")
    ram: str | None = Field(None, description="the host's memory, with its unit: 64GiB")
    ctx: Count | None = Field(None, description="tokens that one sequence must hold, prompt and answer together; 32k is 32,768")
    dtype: str | None = Field(None, description="element type of the weights, or a quantization on paper: int4, awq, fp8, q4_k_m")
    kv_dtype: str | None = Field(None, description="element type of the cache: fp8, q8_0, q8_0/f16")
    tp: PositiveInt | None = Field(None, description="tensor parallelism")
    pp: PositiveInt | None = Field(None, description="pipeline stages")

    def options(self, batch: int | str | None) -> Options:
        """The request; ``batch`` are sequences at once. Raises RequestError for one without a subject."""
        if self.model is None and not self.command:
            raise RequestError("usage", "no model and no command", hint='{"model": "qwen3-8b"}, or {"command": "vllm serve Qwen/Qwen3-8B"}')
        said = {
            name: value for name in Options._fields if name not in ("command", "batch") and (value := getattr(self, name, None)) is not None
        }
        said |= {} if batch is None else {"batch": batch}
        return Options(command=_words(self.command), **{name: str(value) for name, value in said.items()})

    def refuse_stdin(self) -> None:
        """Raises RequestError for ``-``: stdin is the protocol's."""
        if STDIN in (self.model, *_words(self.command)):
            raise RequestError("usage", "'-' is stdin, which the protocol needs", hint="name a file")


def _words(command: str | list[str] | None) -> tuple[str, ...]:
    if not isinstance(command, str):
        return tuple(command or ())
    try:
        return tuple(shlex.split(command))
    except ValueError as problem:
        raise RequestError("usage", f"command: {problem}", hint="close the quotation, or give a list of words") from None


@contextlib.contextmanager
def network(*, online: bool) -> Iterator[None]:
    """The Hub is asked only where the agent said so."""
    with only_cached(Sources(online=online)):
        yield
