"""Ollama's Modelfile: a model and the parameters that it is always loaded with.

Source: ollama 0.34 docs/modelfile.mdx, parser/parser.go: instructions in any case; texts in triple quotes over several lines; comments
are lines of their own; a second FROM names a projector.
"""

import re
from collections.abc import Iterator

from kvplan.checker.server import Server, Text, Unreadable, Word

KIND = "ollama-modelfile"
_BLOCK = re.compile(r'"""(?:.|\n)*?(?:"""|\Z)')
_INSTRUCTION = re.compile(r"[ \t]*([A-Za-z]+)[ \t]+(\S.*?)[ \t\r]*")
_PARAMETER = re.compile(r"(\w+)[ \t]+(\S.*)")
_NUMBER = re.compile(r"(-?[\d.]+)[ \t]+#.*")  # what people mean by a comment behind a number; Ollama wants it on a line of its own
_FROM = re.compile(r"^[ \t]*FROM[ \t]+\S", re.IGNORECASE | re.MULTILINE)
_OURS = re.compile(
    r"^[ \t]*PARAMETER[ \t]+(?:num_|temperature|top_|stop|repeat_|min_p|seed|use_mmap|main_gpu)", re.IGNORECASE | re.MULTILINE
)


def claims(file: Text) -> bool:
    """Named so, or with Ollama's PARAMETER lines; always with a model."""
    name = file.path.rpartition("/")[2].lower()
    if "modelfile" not in name and ("parameter" not in file.text.lower() or _OURS.search(file.text) is None):
        return False
    return _FROM.search(file.text) is not None


def servers(file: Text) -> Iterator[Server | Unreadable]:
    """The one server that ``ollama run`` would start; parameters stand as NAME=VALUE behind the model."""
    model: Word | None = None
    said: list[Word] = []
    for number, line in enumerate(_BLOCK.sub(_hollow, file.text.removeprefix("\ufeff")).split("\n"), 1):
        found = _INSTRUCTION.fullmatch(line)
        if found is None or found[1].upper() not in ("FROM", "PARAMETER", "ADAPTER"):
            continue
        instruction, column = found[1].upper(), found.start(2) + 1
        parameter = _PARAMETER.fullmatch(found[2])
        if instruction == "FROM":
            model = model or Word(_unquoted(found[2]), number, column)
        elif instruction == "ADAPTER":
            said.append(Word(f"adapter={_unquoted(found[2])}", number, column))
        elif parameter:
            value = _NUMBER.fullmatch(parameter[2])
            said.append(Word(f"{parameter[1].lower()}={value[1] if value else _unquoted(parameter[2])}", number, column))
    if model is None:
        yield Unreadable(file.path, 1, "Modelfile: expected a FROM line")
        return
    at = model._replace(column=1)
    yield Server(KIND, None, file.path, model.line, (at._replace(text="ollama"), at._replace(text="run"), model, *said), engine="ollama")


def _hollow(block: re.Match[str]) -> str:
    """A text that several lines hold, without what it says: prompts may begin lines with FROM."""
    return '""' + "\n" * block[0].count("\n")


def _unquoted(text: str) -> str:
    return text[1:-1] if len(text) > 1 and text[0] == text[-1] == '"' else text
