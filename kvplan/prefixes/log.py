"""A log of requests, read line by line."""

import sys
from codecs import BOM_UTF8
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from kvplan.core.errors import RequestError
from kvplan.prefixes.lines import Malformed, bad_line, request
from kvplan.prefixes.request import Request


class Log:
    """The requests of a file, and how many of its lines were left out."""

    def __init__(self, path: str, *, skip_bad: bool) -> None:
        """``-`` is stdin; a name that ends in .txt has a prompt a line. ``skip_bad`` leaves out lines that hold no request."""
        self.path, self.name = path, "stdin" if path == "-" else path
        self._skip_bad = skip_bad
        self.skipped: list[str] = []
        self.n_lines = self.n_skipped = 0

    def __iter__(self) -> Iterator[Request]:
        """Each request in turn. Raises RequestError for a line that holds none, a file that can't be read or has none."""
        found = None
        try:
            with self._open() as file:
                for found in self._each(file):
                    yield found
        except OSError as problem:
            raise RequestError(
                "bad_file", f"{self.path}: {problem.strerror or problem}", hint="name a file of requests, one a line"
            ) from None
        if found is None:
            raise RequestError(
                "bad_file", f"{self.name}: holds no request", hint="a request a line: `kvplan prefix --help`", details=self.skipped
            )

    def _open(self) -> BinaryIO:
        return sys.stdin.buffer if self.path == "-" else Path(self.path).open("rb")

    def _each(self, file: BinaryIO) -> Iterator[Request]:
        from pydantic_core import from_json  # three times as fast as json, and a log of ids is hardly anything else

        plain = self.path.endswith(".txt")
        for self.n_lines, raw in enumerate(file, 1):
            line = raw.removeprefix(BOM_UTF8) if self.n_lines == 1 else raw
            if not line.strip():
                continue
            try:
                yield Request(self.n_lines, text=line.decode().rstrip("\r\n")) if plain else request(from_json(line.strip()), self.n_lines)
            except Malformed as problem:
                self._bad(str(problem))
            except UnicodeDecodeError:
                self._bad("expected UTF-8")
            except ValueError as problem:
                self._bad(f"expected one JSON value: {str(problem).replace('line 1 column', 'column')}")

    def _bad(self, why: str) -> None:
        """Count a line that holds no request. Raises RequestError where none may be left out."""
        if not self._skip_bad:
            raise bad_line(self.name, self.n_lines, why)
        self.n_skipped += 1
        if len(self.skipped) < _SHOWN:
            self.skipped.append(f"{self.name}:{self.n_lines}: {why}")


_SHOWN = 3
