"""llama-swap's configuration: a command for each model, put together from macros.

Source: mostlygeek/llama-swap 2026-08 internal/config/macros.go (a model's macros replace those of the file, macros hold macros, ``${PORT}``
and ``${MODEL_ID}`` are its own), commands.go (lines that begin with # are dropped, a newline is a blank, no shell), config.example.yaml
(groups without ``swap`` and sets of the matrix are loaded together).
"""

import re
from collections.abc import Iterator, Mapping

from kvplan.checker.scripts import commands
from kvplan.checker.server import Server, Text, Unreadable, Word
from kvplan.checker.yaml_nodes import Node, documents

KIND = "llama-swap"
_SHAPE = re.compile(r"^[\"']?models[\"']?:", re.MULTILINE)
_COMMAND = re.compile(r"^[ \t]+[\"']?cmd[\"']?:", re.MULTILINE)
_MACRO = re.compile(r"\$\{([A-Za-z0-9_-]+)\}")
_ENVIRONMENT = re.compile(r"\$\{env\.([A-Za-z_]\w*)\}", re.ASCII)
_COMMENT = re.compile(r"""(?:[^'"#]|(?<=\S)#|"[^"]*"|'[^']*')*?(?=(?:^|\s)\s*#(?:\s|$|\w))""")
_MAX_CHARS = 100_000
_MAX_ROUNDS = 10  # macros in macros
_PORT = "5800"


def claims(file: Text) -> bool:
    """YAML with models that have commands."""
    if not file.path.lower().endswith((".yaml", ".yml")) or "models" not in file.text or "cmd" not in file.text:
        return False
    return _SHAPE.search(file.text) is not None and _COMMAND.search(file.text) is not None


def servers(file: Text) -> Iterator[Server | Unreadable]:
    """One for each model, in the file's order."""
    for document in documents(file):
        if isinstance(document, Unreadable):
            yield document
            continue
        together = dict(_together(document))
        for identity, model in document.get("models").named():
            command = model.get("cmd").word
            if command:
                macros = {**_macros(document), **_macros(model), "PORT": _PORT, "MODEL_ID": identity.text}
                server = _server(file, identity, model, _line(command, macros, file.variables))
                yield server._replace(co_located=together.get(identity.text))


def _macros(node: Node) -> dict[str, str]:
    return {name.text: " ".join(_spoken(value.text or "")) for name, value in node.get("macros").named()}


def _spoken(text: str) -> Iterator[str]:
    """Lines without comments and the backslash at their ends; what is left of a line that is a comment is nothing."""
    for line in text.split("\n"):
        said = _COMMENT.match(line)
        yield (said[0] if said else line).rstrip().removesuffix("\\")


def _line(command: Word, macros: Mapping[str, str], variables: Mapping[str, str]) -> Word:
    """One command over the lines that it has in the file."""
    text = " \\\n".join(_spoken(command.text.rstrip()))
    for _ in range(_MAX_ROUNDS):
        replaced = _MACRO.sub(lambda found: macros.get(found[1], found[0]), text)
        if replaced == text or len(replaced) > _MAX_CHARS:
            break
        text = replaced
    return command._replace(text=_ENVIRONMENT.sub(lambda found: variables.get(found[1], f"${{{found[1]}}}"), text))


def _server(file: Text, identity: Word, model: Node, command: Word) -> Server:
    run = next(commands(command, file.variables), None)
    pairs = ((word, *word.text.partition("=")) for word in model.get("env").words())
    env = {name: word._replace(text=value) for word, name, equals, value in pairs if equals}
    return Server(
        KIND,
        identity.text,
        file.path,
        model.get("cmd").line,
        run.words if run else (),
        {**env, **(run.env if run else {})},
    )


def _together(document: Node) -> Iterator[tuple[str, str]]:
    """Models that stay loaded beside each other, and what joins them: where sets offer a choice, nothing is certain."""
    settings = document.get("routing", "router", "settings")
    for name, group in (document.get("groups") or settings.get("groups")).named():
        if group.get("swap").truth is False:
            yield from ((member.text, f"group {name.text}") for member in group.get("members").words())
    matrix = document.get("matrix") or settings.get("matrix")
    names = {key.text: value.text or "" for key, value in matrix.get("vars").named()}
    for name, expression in matrix.get("sets").named():
        text = expression.text or ""
        if "&" in text and "|" not in text:
            members = (part.strip(" \n()") for part in text.split("&"))
            yield from ((names.get(member, member), f"set {name.text}") for member in members)
