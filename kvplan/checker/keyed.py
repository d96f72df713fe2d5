"""Settings that a file says as keys and values, as the engine's flags."""

import json
import re
from collections.abc import Iterable, Iterator, Mapping

from kvplan.checker.server import Word
from kvplan.checker.yaml_nodes import Node

_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")


def kebab(key: str) -> str:
    """maxModelLen and max_model_len as max-model-len."""
    return _HUMP.sub("-", key).replace("_", "-").lower()


def flags(pairs: Iterable[tuple[Word, Node]], names: Mapping[str, str] | None = None) -> Iterator[Word]:
    """A flag for each setting, under the name that ``names`` gives it; without ``names`` under its own."""
    for key, value in pairs:
        name = kebab(key.text) if names is None else names.get(key.text, "")
        if name and value:
            yield from flag(name, key, value)


def flag(name: str, key: Word, value: Node) -> Iterator[Word]:
    """``--name value`` where the key stands; a switch that is off is its opposite, what has parts is JSON."""
    if value.kind == "scalar" and value.style == "plain" and value.truth is not None:
        if value.truth or not name.startswith("disable-"):  # what is not disabled needs no words
            yield key._replace(text=f"--{name}" if value.truth else f"--no-{name}")
    elif value.kind == "scalar":
        yield key._replace(text=f"--{name}")
        yield value.word or key
    else:
        yield key._replace(text=f"--{name}")
        yield Word(json.dumps(plain(value)), value.line, value.column)


def plain(node: Node) -> object:
    """A value of a document as JSON has it."""
    if node.kind == "map":
        return {key.text: plain(value) for key, value in node.named()}
    if node.kind == "list":
        return [plain(item) for item in node.items]
    if node.style != "plain":
        return node.said
    if node.truth is not None:
        return node.truth
    if node.text is None:
        return None
    try:
        number = json.loads(node.text)
    except ValueError:
        return node.text
    return number if isinstance(number, int | float) else node.text
