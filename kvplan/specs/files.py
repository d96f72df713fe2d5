"""Reading what people point at: JSON and YAML files, with errors that name the file and the line."""

import json
import os
import sys
from pathlib import Path
from typing import IO, TYPE_CHECKING

from kvplan.core.errors import RequestError

if TYPE_CHECKING:
    import yaml

MAX_BYTES = 16 * 2**20  # the largest real config.json has some 300 KiB
MAX_NODES = 500_000  # hundreds of times what a spec file holds, and soon walked; aliases can stand for any number


def read_text(path: Path) -> str:
    """The text of ``path`` (``-`` is stdin). Raises RequestError when it is not there, too large, empty or not UTF-8."""
    try:
        raw = stdin().read(MAX_BYTES + 1) if str(path) == "-" else _read_bytes(path)
    except (OSError, ValueError) as problem:  # ValueError: a path with a NUL or half a character
        raise unreadable(path, problem) from None
    return text_of(raw, _shown(path))


def sizes_in(folder: Path) -> dict[str, int]:
    """Names and bytes of the files in ``folder`` itself. Raises RequestError where it may not be looked into."""
    try:
        return {path.name: path.stat().st_size for path in sorted(folder.iterdir()) if path.is_file()}
    except OSError as problem:
        raise unreadable(folder, problem) from None


def unreadable(path: Path | str, problem: Exception) -> RequestError:
    """The error for a path that the system does not let us read."""
    reason = getattr(problem, "strerror", None) or problem
    return RequestError("unreadable_file", f"{path}: {reason}", hint="check the path and its permissions")


def text_of(raw: bytes, where: str) -> str:
    """The text that ``raw`` is. Raises RequestError when it is too large, empty or not UTF-8; ``where`` names it."""
    if len(raw) > MAX_BYTES:
        raise RequestError("bad_file", f"{where}: larger than {MAX_BYTES // 2**20} MiB: not a config", hint="point at a config.json")
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as problem:
        found = f"byte {raw[problem.start]:#04x} at offset {problem.start}"
        raise RequestError("bad_file", f"{where}: expected UTF-8 text, found {found}", hint="save the file as UTF-8") from None
    if not text.strip():
        raise RequestError("bad_file", f"{where}: the file is empty", hint="a config.json holds one JSON object")
    return text


def read_json(path: Path) -> dict[str, object]:
    """The JSON object in ``path``. Raises RequestError with file:line:column for anything else."""
    return parse_json(read_text(path), _shown(path))


def parse_json(text: str, where: str) -> dict[str, object]:
    """The JSON object in ``text``; ``where`` names it in errors."""
    try:
        value = json.loads(text, object_pairs_hook=lambda pairs: unique(pairs, where))
    except json.JSONDecodeError as problem:
        place = f"{where}:{problem.lineno}:{problem.colno}"
        raise RequestError(
            "bad_json", f"{place}: invalid JSON: {problem.msg[0].lower()}{problem.msg[1:]}", hint="fix the file at that line"
        ) from None
    except RecursionError:
        raise RequestError("bad_json", f"{where}: nested too deeply for a config", hint="point at a config.json") from None
    except ValueError as problem:  # an integer of more than 4300 digits
        raise RequestError("bad_json", f"{where}: {problem}", hint="fix the number") from None
    return _mapping(value, where)


def read_yaml(path: Path) -> dict[str, object]:
    """The YAML mapping in ``path``. Raises RequestError with file:line:column for anything else."""
    return parse_yaml(read_text(path), _shown(path))


def parse_yaml(text: str, where: str) -> dict[str, object]:
    """The YAML mapping in ``text``; the C loader is used where it is built in."""
    import yaml

    try:
        loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)(text)  # both are safe
        node = loader.get_single_node()
        _check_nodes(node, where)
        value = loader.construct_document(node) if node else None
    except yaml.MarkedYAMLError as problem:
        mark = problem.problem_mark
        place = f"{where}:{mark.line + 1}:{mark.column + 1}" if mark else where
        raise RequestError("bad_yaml", f"{place}: invalid YAML: {problem.problem}", hint="fix the file at that line") from None
    except (yaml.YAMLError, RecursionError, ValueError) as problem:
        raise RequestError("bad_yaml", f"{where}: invalid YAML: {problem}", hint="fix the file") from None
    return _mapping(value, where)


def stdin() -> IO[bytes]:
    """What is piped in. Raises RequestError where nothing is: closed, or a terminal, which would be waited for without end."""
    if sys.stdin is None or sys.stdin.isatty():
        found = "it is closed" if sys.stdin is None else "it is a terminal"
        raise RequestError("no_input", f"-: expected something on stdin, {found}", hint="pipe it in, as in `cat FILE | kvplan …`")
    return sys.stdin.buffer


def _read_bytes(path: Path) -> bytes:
    """A named pipe that nobody writes to is as good as empty, where a plain open would wait for a writer."""
    if not path.is_fifo():
        with path.open("rb") as file:
            return file.read(MAX_BYTES + 1)
    with os.fdopen(os.open(path, os.O_RDONLY | os.O_NONBLOCK), "rb") as pipe:
        os.set_blocking(pipe.fileno(), True)
        return pipe.read(MAX_BYTES + 1)


def _shown(path: Path) -> str:
    return "<stdin>" if str(path) == "-" else str(path)


def unique(pairs: list[tuple[str, object]], where: str) -> dict[str, object]:
    """``pairs`` of one JSON object as a mapping. Raises RequestError for a key that stands twice."""
    mapping = dict(pairs)
    if len(mapping) < len(pairs):
        keys = [key for key, _ in pairs]
        twice = next(key for key in keys if keys.count(key) > 1)
        raise RequestError("bad_json", f"{where}: key '{twice}' appears twice in one object", hint="remove one of them")
    return mapping


def _check_nodes(root: "yaml.Node | None", where: str) -> None:
    """What YAML's loader would let pass.

    Raises RequestError for a key that stands twice in one mapping, and for aliases that expand to too much or to themselves.
    """
    import yaml

    waiting, n_nodes = [root], 0
    while waiting and n_nodes <= MAX_NODES:
        node = waiting.pop()
        n_nodes += 1
        if isinstance(node, yaml.MappingNode):
            _check_keys([key for key, _ in node.value if isinstance(key, yaml.ScalarNode)], where)
            waiting += [child for pair in node.value for child in pair]
        elif isinstance(node, yaml.SequenceNode):
            waiting += node.value
    if waiting:
        raise RequestError("bad_yaml", f"{where}: more than {MAX_NODES} values, its aliases expanded", hint="write it without aliases")


def _check_keys(keys: "list[yaml.ScalarNode]", where: str) -> None:
    seen: set[str] = set()
    for key in keys:
        if key.value in seen:
            place = f"{where}:{key.start_mark.line + 1}:{key.start_mark.column + 1}"
            raise RequestError("bad_yaml", f"{place}: key '{key.value}' appears twice in one mapping", hint="remove one of them")
        seen.add(key.value)


def _mapping(value: object, where: str) -> dict[str, object]:
    if isinstance(value, dict) and all(isinstance(key, str) for key in value):
        return value
    found = {list: "a list", str: "a string", type(None): "null"}.get(type(value), type(value).__name__)
    raise RequestError("bad_config", f"{where}: expected a mapping with text keys, found {found}", hint="a config.json holds one object")
