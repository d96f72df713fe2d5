"""What was said, asked for by name: the last word on each flag counts."""

from kvplan.core.errors import RequestError
from kvplan.core.told import Told
from kvplan.core.units import GIB
from kvplan.engines.vllm.values import as_object

Json = dict[str, object]


class Said(Told):
    """Flags by name. Their values are canonical already, as ``values.canonical`` writes them."""

    def real(self, name: str, default: float) -> float:
        """A number with a fraction."""
        value = self.word(name)
        return default if value is None else float(value)

    def gib(self, name: str, default: float = 0.0) -> int:
        """Bytes of a number of GiB."""
        return int(self.real(name, default) * GIB)

    def switch(self, name: str) -> bool | None:
        """True, False, or None where nothing was said."""
        value = self.word(name)
        return None if value is None else value == "true"

    def sizes(self, name: str) -> tuple[int, ...]:
        """Whole numbers."""
        return tuple(int(word) for word in (self.word(name) or "").split(",") if word)

    def json(self, name: str) -> Json:
        """A JSON object, empty where nothing was said; dashes in its keys are underscores."""
        value = self.word(name)
        return {} if value is None else {key.replace("-", "_"): inner for key, inner in as_object(name, value).items()}


def whole(found: Json, key: str, where: str) -> int | None:
    """The whole number from 1 that a JSON setting holds under ``key``, None where it holds none.

    Raises RequestError for anything else.
    """
    value = found.get(key)
    if value is None:
        return None
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        raise RequestError("bad_setting", f"vllm: --{where}.{key}: Input should be a valid integer greater than 0, found {value!r}")
    return value


def text(found: Json, key: str, where: str) -> str | None:
    """The text that a JSON setting holds under ``key``. Raises RequestError for anything but text."""
    value = found.get(key)
    if value is not None and not isinstance(value, str):
        raise RequestError("bad_setting", f"vllm: --{where}.{key}: Input should be a valid string, found {value!r}")
    return value
