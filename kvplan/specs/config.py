"""Typed reading of a config.json: every complaint names the file, the key path, what was expected and what was found."""

import json
from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

from kvplan.core.errors import RequestError, near_matches

MAX_VALUE = 2**40  # thousands of times the largest size in any config: what is beyond is a mistake, and would only make work
MAX_LAYERS = 4096  # the same for layers, each of which is built

T = TypeVar("T")


class ConfigError(RequestError):
    """A config that is missing something, contradicts itself or holds the wrong kind of value."""

    def __init__(self, where: str, message: str, *, hint: str = "") -> None:
        """``where`` is the file, and the key path where there is one."""
        super().__init__("bad_config", f"{where}: {message}", hint=hint)


class UnknownArchitectureError(ConfigError):
    """An architecture that no adapter knows and that is not plainly like another; ``named`` is whether Transformers may know it."""

    def __init__(self, where: str, message: str, *, hint: str = "", named: bool = False) -> None:
        """``where`` is the file and the key; ``named``: the config says all that Transformers goes by."""
        super().__init__(where, message, hint=hint)
        self.named = named

    def offering(self, ref: str) -> None:
        """Add to the hint how the model at ``ref`` can be traced, where that is likely to work."""
        if self.named and ref != "-":
            import shlex  # only errors need it

            command = f"kvplan verify {shlex.quote(ref)} --backend trace"
            self.hint = f"if Transformers knows it, `{command}` tells what it takes; {self.hint}"


class Config:
    """One mapping of a config.json. A key that is null counts as absent, except for ``optional_integer``.

    ``where`` names the file in errors; ``path`` is the key path of this mapping inside it.
    """

    def __init__(self, data: Mapping[str, object], *, where: str, path: str = "") -> None:
        """Wrap ``data`` as read from ``where``."""
        self.data = data
        self.where = where
        self.path = path

    def error(self, key: str, message: str, *, hint: str = "") -> ConfigError:
        """A complaint about ``key``, to raise."""
        return ConfigError(f"{self.where}: {self.path}{key}", message, hint=hint)

    def has(self, key: str) -> bool:
        """Whether ``key`` is there and not null."""
        return self.data.get(key) is not None

    def names(self, key: str) -> bool:
        """Whether ``key`` is there at all, null included."""
        return key in self.data

    def integer(self, *keys: str, default: int | None = None, least: int = 1, most: int = MAX_VALUE) -> int:
        """The whole number at the first of ``keys`` that is there; ``default`` when none is."""

        def read(value: object) -> int | None:
            if isinstance(value, float) and value.is_integer():
                value = int(value)
            return value if isinstance(value, int) and not isinstance(value, bool) and least <= value <= most else None

        return self._read(keys, default, read, f"a whole number from {least} to {most}")

    def optional_integer(self, key: str, *, default: int | None = None, least: int = 1) -> int | None:
        """Like ``integer``, but null is an answer: None."""
        return None if key in self.data and self.data[key] is None else self._maybe_integer(key, default, least)

    def _maybe_integer(self, key: str, default: int | None, least: int) -> int | None:
        return self.integer(key, least=least) if self.has(key) else default

    def number(self, *keys: str, default: float | None = None) -> float:
        """The number at the first of ``keys`` that is there; all that configs hold are factors, which are never negative."""

        def read(value: object) -> float | None:
            ok = isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < MAX_VALUE
            return float(value) if ok else None  # type: ignore[arg-type]  # narrowed by ok

        return self._read(keys, default, read, "a number of at least 0")

    def flag(self, key: str, *, default: bool | None = None) -> bool:
        """The truth value at ``key``."""
        return self._read((key,), default, lambda value: value if isinstance(value, bool) else None, "true or false")

    def text(self, *keys: str, default: str | None = None) -> str:
        """The string at the first of ``keys`` that is there."""
        return self._read(keys, default, lambda value: value if isinstance(value, str) else None, "a string")

    def integers(self, key: str, *, default: Sequence[int] | None = None, least: int = 0) -> tuple[int, ...]:
        """The list of whole numbers at ``key``."""

        def read(value: object) -> tuple[int, ...] | None:
            ok = isinstance(value, list) and all(isinstance(v, int) and not isinstance(v, bool) and least <= v <= MAX_VALUE for v in value)
            return tuple(value) if ok else None  # type: ignore[arg-type]  # narrowed by ok

        return self._read((key,), None if default is None else tuple(default), read, f"a list of whole numbers of at least {least}")

    def texts(self, key: str, *, default: Sequence[str] | None = None) -> tuple[str, ...]:
        """The list of strings at ``key``."""

        def read(value: object) -> tuple[str, ...] | None:
            ok = isinstance(value, list) and all(isinstance(v, str) for v in value)
            return tuple(value) if ok else None  # type: ignore[arg-type]  # narrowed by ok

        return self._read((key,), None if default is None else tuple(default), read, "a list of strings")

    def sub(self, key: str) -> "Config":
        """The mapping at ``key``; an empty one when it is absent."""
        nothing: dict[str, object] = {}
        value = self._read((key,), nothing, lambda value: value if isinstance(value, dict) else None, "a mapping")
        return Config(value, where=self.where, path=f"{self.path}{key}.")

    def mappings(self, key: str) -> tuple["Config", ...]:
        """The list of mappings at ``key``."""

        def read(value: object) -> list[dict[str, object]] | None:
            return value if isinstance(value, list) and all(isinstance(v, dict) for v in value) else None

        items = self._read((key,), None, read, "a list of mappings")
        return tuple(Config(item, where=self.where, path=f"{self.path}{key}[{i}].") for i, item in enumerate(items))

    def with_defaults(self, defaults: Mapping[str, object]) -> "Config":
        """This mapping with what it leaves out from ``defaults``; null is an answer and stays."""
        return Config({**defaults, **self.data}, where=self.where, path=self.path)

    def renamed(self, names: Mapping[str, str]) -> "Config":
        """This mapping with its own names of keys (``names``: own to common) made common ones.

        Raises ConfigError where both are there and disagree.
        """
        common = {names[key]: value for key, value in self.data.items() if key in names and value is not None}
        for key, value in common.items():
            if self.has(key) and self.data[key] != value:
                own = next(k for k, v in names.items() if v == key and self.has(k))
                raise self.error(own, f"expected {shown(self.data[key])}, as {key} says, found {shown(value)}")
        return Config({**self.data, **common}, where=self.where, path=self.path)

    def class_name(self) -> str:
        """The model class, the first of ``architectures``; empty where none is named."""
        return next(iter(self.texts("architectures", default=())), "")

    def n_layers(self, *keys: str) -> int:
        """The number of layers, within what a model can have."""
        return self.integer(*(keys or ("num_hidden_layers",)), most=MAX_LAYERS)

    def per_layer(self, key: str, n_layers: int, values: Sequence[T]) -> Sequence[T]:
        """``values`` read from ``key``, checked to have one item for each layer."""
        if len(values) != n_layers:
            raise self.error(key, f"expected one item for each of {n_layers} layers, found {len(values)}")
        return values

    def _read(self, keys: Sequence[str], default: T | None, read: Callable[[object], T | None], expected: str) -> T:
        key = next((k for k in keys if self.has(k)), None)
        if key is None:
            if default is not None:
                return default
            close = [m for k in keys for m in near_matches(k, [name for name in self.data if self.has(name)])]
            raise self.error(
                keys[0],
                f"missing: expected {expected}",
                hint=f"found similar keys: {', '.join(close)}" if close else f"add {' or '.join(keys)} as the model's author gives it",
            )
        value = read(self.data[key])
        if value is None:
            raise self.error(key, f"expected {expected}, found {shown(self.data[key])}")
        return value


def shown(value: object) -> str:
    """A value as it stood in the file, cut short."""
    text = json.dumps(value, default=str)
    return text if len(text) <= 60 else f"{text[:57]}..."
