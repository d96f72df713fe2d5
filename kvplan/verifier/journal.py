"""A file of results, one a line, that an interrupted run leaves whole and a later one goes on with."""

import json
import os
from pathlib import Path
from typing import IO

from kvplan import __version__
from kvplan.core.errors import RequestError

_HEAD = '{"schema_version": 1, "kvplan": '


class Journal:
    """Results by key. Each is on the disk before the next begins; a line that an interruption cut short is dropped, and its point is
    measured again."""

    def __init__(self, path: Path) -> None:
        """What the file holds. Raises RequestError for a file that is no journal, or can't be read and written."""
        self.found: dict[str, dict[str, object]] = {}
        try:
            self._file: IO[bytes] = path.open("r+b" if path.exists() else "x+b")
        except OSError as problem:
            raise RequestError("unwritable_file", f"{path}: {problem.strerror or problem}", hint="check the path") from None
        try:
            self._read(path)
        except RequestError:
            self._file.close()
            raise

    def _read(self, path: Path) -> None:
        whole, _, torn = self._file.read().rpartition(b"\n")
        lines = whole.split(b"\n") if whole else []
        if not lines and torn and not _begins(torn):
            raise _foreign(path, 1)
        for number, line in enumerate(lines, 1):
            try:
                entry = json.loads(line)
                self.found[_text(entry["key"])] = entry["result"]
            except (ValueError, KeyError, TypeError):
                raise _foreign(path, number) from None
        self._file.seek(len(whole) + 1 if whole else 0)
        self._file.truncate()

    def keep(self, key: dict[str, object], result: dict[str, object]) -> None:
        """Append a result; a later one of the same key counts."""
        self.found[_text(key)] = result
        line = json.dumps({"schema_version": 1, "kvplan": __version__, "key": key, "result": result}, ensure_ascii=False)
        self._file.write(line.encode() + b"\n")
        self._file.flush()
        os.fsync(self._file.fileno())

    def known(self, key: dict[str, object]) -> dict[str, object] | None:
        """The result of ``key``, None where there is none."""
        return self.found.get(_text(key))

    def close(self) -> None:
        """Let go of the file."""
        self._file.close()


def _text(key: dict[str, object]) -> str:
    return json.dumps(key, sort_keys=True)


def _begins(torn: bytes) -> bool:
    head = _HEAD.encode()
    return torn.startswith(head) or head.startswith(torn)


def _foreign(path: Path, number: int) -> RequestError:
    hint = "name a new file, or one that `kvplan sweep --measure` wrote"
    return RequestError("file_exists", f"{path}:{number}: no line of measured results", hint=hint)
