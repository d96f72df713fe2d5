"""Ollama's Modelfile: the model, and parameters it is always loaded with.

Source: ollama 0.34 docs/modelfile.mdx, parser/parser.go: instructions in any case, texts in triple quotes over several lines.
"""

import re
from typing import NamedTuple

from kvplan.core.errors import RequestError


class Modelfile(NamedTuple):
    """``parameters`` in the order of the file; ``adapters`` are LoRA files."""

    model: str
    parameters: tuple[tuple[str, str], ...]
    adapters: tuple[str, ...] = ()


def read(text: str) -> Modelfile:
    """Raises RequestError for a file without FROM, and for a parameter without a value."""
    model = ""
    parameters, adapters = [], []
    for line in re.sub(r'"""(?:.|\n)*?"""', '""', text).splitlines():
        instruction, value = _halves(line)
        name = instruction.upper()
        if name == "FROM" and not model:  # a second one names a projector
            model = _unquoted(value)
        elif name == "ADAPTER":
            adapters.append(_unquoted(value))
        elif name == "PARAMETER":
            key, said = _halves(value)
            if not said.strip():
                raise RequestError("bad_file", f"Modelfile: PARAMETER {key} has no value", hint="PARAMETER num_ctx 8192")
            parameters.append((key.lower(), _unquoted(said)))
    if not model:
        raise RequestError("bad_file", "Modelfile: expected a FROM line", hint="FROM ./model.gguf")
    return Modelfile(model, tuple(parameters), tuple(adapters))


def _halves(text: str) -> tuple[str, str]:
    """The first word, and what follows blanks or tabs."""
    first, *rest = text.strip().split(None, 1) or [""]
    return first, rest[0] if rest else ""


def _unquoted(text: str) -> str:
    """A value without the quotation marks around it."""
    text = text.strip()
    return text[1:-1] if len(text) > 1 and text[0] == text[-1] == '"' else text
