"""Bytes of a file, wherever it lies: header readers ask for ranges and never for the whole."""

import os
from pathlib import Path
from types import TracebackType
from typing import Protocol

from kvplan.core.errors import RequestError
from kvplan.specs.files import unreadable


class Source(Protocol):
    """A file to read ranges of. ``name`` is what errors call it, ``size`` its length in bytes."""

    @property
    def name(self) -> str:
        """What errors call the file."""
        ...

    @property
    def size(self) -> int:
        """Bytes of the whole file."""
        ...

    def read(self, start: int, stop: int) -> bytes:
        """Bytes ``start`` up to ``stop``; fewer only where the file ends before. Raises KvplanError when it can't be read."""
        ...


class LocalFile:
    """A file on disk, open while the ``with`` block runs. Raises RequestError for what can't be opened or is no plain file."""

    def __init__(self, path: Path) -> None:
        """``path`` is opened at once, so that errors come where the file is named."""
        self.name = str(path)
        try:
            if path.exists() and not path.is_file():
                raise RequestError("unreadable_file", f"{path}: expected a file", hint="check the path")
            self._file = path.open("rb")
            self.size = os.fstat(self._file.fileno()).st_size
        except (OSError, ValueError) as problem:  # ValueError: a path with a NUL
            raise unreadable(path, problem) from None

    def read(self, start: int, stop: int) -> bytes:
        """See ``Source.read``."""
        try:
            self._file.seek(start)
            return self._file.read(max(0, min(stop, self.size) - start))
        except OSError as problem:
            raise unreadable(self.name, problem) from None

    def __enter__(self) -> "LocalFile":
        """The open file."""
        return self

    def __exit__(self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None) -> None:
        """Close it."""
        self._file.close()
