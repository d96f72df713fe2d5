"""A JSON value that knows where in its document it stands, so that the page can say where each number is from."""

import re
from collections.abc import Iterator, Mapping

from kvplan.core.errors import RequestError


class Part:
    """One value of a document; a key that is missing is as good as null."""

    def __init__(self, value: object, path: str = "") -> None:
        """``path`` has a key or an index for each step from the document, with dots between them."""
        self.value, self.path = value, path

    def __getitem__(self, key: str) -> "Part":
        """The value of ``key``; of ``a.b`` that of b in a."""
        found = self
        for step in key.split("."):
            inside = found.value if isinstance(found.value, Mapping) else {}
            found = Part(inside.get(step), f"{found.path}.{step}" if found.path else step)
        return found

    def __iter__(self) -> Iterator["Part"]:
        """The values of a list, none of null. Raises RequestError for anything else."""
        found = [] if self.value is None else self.value
        if not isinstance(found, list):
            raise self.wrong("a list")
        return (Part(value, f"{self.path}.{i}") for i, value in enumerate(found))

    def items(self) -> Iterator[tuple[str, "Part"]]:
        """The keys of an object and what they hold, none of null. Raises RequestError for anything else."""
        found = {} if self.value is None else self.value
        if not isinstance(found, Mapping):
            raise self.wrong("an object")
        return ((harmless(str(key)), Part(value, f"{self.path}.{key}")) for key, value in found.items())

    @property
    def given(self) -> bool:
        """Whether it is there and not null."""
        return self.value is not None

    @property
    def text(self) -> str:
        """A string, empty where it is null. Raises RequestError for anything else."""
        if self.value is None:
            return ""
        if not isinstance(self.value, str):
            raise self.wrong("text")
        return harmless(self.value)

    @property
    def whole(self) -> int:
        """A whole number. Raises RequestError for anything else."""
        if not isinstance(self.value, int) or isinstance(self.value, bool) or abs(self.value) > _MOST:
            raise self.wrong("a whole number")
        return self.value

    @property
    def number(self) -> float:
        """A number. Raises RequestError for anything else."""
        if isinstance(self.value, float) and abs(self.value) <= _MOST:
            return self.value
        return self.whole

    @property
    def on(self) -> bool:
        """Whether it is true."""
        return self.value is True

    @property
    def counted(self) -> int:
        """A whole number of at least 1. Raises RequestError for anything else."""
        if self.whole < 1:
            raise self.wrong("a number of at least 1")
        return self.whole

    def wrong(self, wanted: str) -> RequestError:
        """The complaint that something else than ``wanted`` stands here."""
        found = "nothing" if self.value is None else repr(self.value)[:60]
        return RequestError("bad_file", f"{self.path}: expected {wanted}, found {found}", hint="is it what kvplan wrote with --json?")


def harmless(text: str) -> str:
    """``text`` with what would steer a terminal, or turn its words around, spelled out."""
    return _STEERING.sub(lambda found: found[0].encode("unicode_escape").decode(), text)


_MOST = 2**63
_STEERING = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
