"""Typed reading of a GGUF file's keys: every complaint names the file, the key, what was expected and what was found."""

from collections.abc import Callable
from typing import TypeVar

from kvplan.core.errors import RequestError
from kvplan.specs.config import MAX_LAYERS, MAX_VALUE
from kvplan.specs.gguf.header import Header, Skipped, Value

T = TypeVar("T")


class Keys:
    """The keys of one architecture, named without its prefix: ``attention.head_count`` is ``llama.attention.head_count``.

    ``arch`` is ``general.architecture``; ``where`` names the file in errors.
    """

    def __init__(self, header: Header, where: str) -> None:
        """Wrap ``header`` as read from ``where``. Raises RequestError where it names no architecture."""
        self.header = header
        self.where = where
        arch = header.values.get("general.architecture")
        if not isinstance(arch, str) or not arch:
            found = "nothing" if arch is None else repr(arch)
            raise RequestError("bad_gguf", f"{where}: general.architecture: expected the architecture's name, found {found}")
        self.arch = arch
        self._per_layer: dict[str, tuple[int, ...]] = {}  # each layer asks for the same ones

    def error(self, key: str, message: str, *, hint: str = "") -> RequestError:
        """A complaint about ``key``, to raise."""
        return RequestError("bad_gguf", f"{self.where}: {self.arch}.{key}: {message}", hint=hint)

    def contradiction(self, tensor: str, message: str) -> RequestError:
        """A tensor whose shape the keys don't allow, to raise."""
        return RequestError("bad_gguf", f"{self.where}: tensor '{tensor}': {message}", hint="the header contradicts itself")

    def raw(self, key: str) -> Value | None:
        """The value of ``key`` as it came, None where it is absent."""
        return self.header.values.get(f"{self.arch}.{key}")

    def has(self, key: str) -> bool:
        """Whether ``key`` is there."""
        return self.raw(key) is not None

    def integer(self, key: str, *, default: int | None = None, least: int = 1, most: int = MAX_VALUE) -> int:
        """The whole number at ``key``; ``default`` where it is absent. Raises RequestError for anything else."""
        value = self.raw(key)
        if value is None and default is not None:
            return default
        return self._whole(key, value, least, most)

    def per_layer(self, key: str) -> tuple[int, ...]:
        """One whole number for each block, 0 included: an array of that length, or one number for all."""
        if key not in self._per_layer:
            self._per_layer[key] = self._numbers(key)
        return self._per_layer[key]

    def array(self, key: str) -> tuple[bool | int | float, ...]:
        """The numbers at ``key``, none where it is absent. Raises RequestError for anything but an array of bearable length."""
        value = self.raw(key)
        if value is None or (isinstance(value, tuple) and not isinstance(value, Skipped)):
            return value or ()
        raise self.error(key, f"expected an array of numbers, found {_shown(value)}")

    def flags(self, key: str) -> tuple[bool, ...] | None:
        """One truth value for each layer, None where ``key`` is absent or one number (a period)."""
        value = self.raw(key)
        if not isinstance(value, tuple):
            return None
        n = _length(value)
        if isinstance(value, Skipped) or n < self.n_layers:  # those of next-token layers may be there or not
            raise self.error(key, f"expected a truth value for each of {self.n_layers} layers, found {n} values")
        return tuple(bool(item) for item in value[: self.n_layers])

    @property
    def n_blocks(self) -> int:
        """Blocks of the file, next-token-prediction layers included."""
        return self.integer("block_count", most=MAX_LAYERS)

    @property
    def n_next_token(self) -> int:
        """Blocks at the end that predict further tokens and that the plain model does not run."""
        n = self.integer("nextn_predict_layers", default=0, least=0)
        if n >= self.n_blocks:
            raise self.error("nextn_predict_layers", f"expected fewer than block_count = {self.n_blocks}, found {n}")
        return n

    @property
    def n_layers(self) -> int:
        """Blocks that the plain model runs."""
        return self.n_blocks - self.n_next_token

    @property
    def hidden(self) -> int:
        """The width of the residual stream."""
        return self.integer("embedding_length")

    def divided(self, key: str, other: str) -> int:
        """The whole number at ``key`` over that at ``other``, which must divide it."""
        whole, parts = self.integer(key), self.integer(other)
        if whole % parts:
            raise self.error(key, f"expected a multiple of {other} = {parts}, found {whole}")
        return whole // parts

    def layers(self, make: Callable[[int], T]) -> tuple[T, ...]:
        """What ``make`` gives for the index of each layer."""
        return tuple(make(i) for i in range(self.n_layers))

    def _numbers(self, key: str) -> tuple[int, ...]:
        value = self.raw(key)
        if not isinstance(value, tuple):
            return (self._whole(key, value, 0, MAX_VALUE),) * self.n_blocks
        return tuple(self._whole(key, item, 0, MAX_VALUE) for item in self._each(key, value))

    def _each(self, key: str, value: tuple[bool | int | float, ...] | Skipped) -> tuple[bool | int | float, ...]:
        n = _length(value)
        if isinstance(value, Skipped) or n != self.n_blocks:
            raise self.error(key, f"expected {self.n_blocks} numbers, one for each block, found {n}")
        return value

    def _whole(self, key: str, value: object, least: int, most: int) -> int:
        if isinstance(value, int) and not isinstance(value, bool) and least <= value <= most:
            return value
        found = "missing: expected" if value is None else f"found {_shown(value)}, expected"
        raise self.error(key, f"{found} a whole number from {least} to {most}")


def _length(value: tuple[object, ...] | Skipped) -> int:
    return value.n if isinstance(value, Skipped) else len(value)


def _shown(value: object) -> str:
    if isinstance(value, Skipped):
        return f"{value.n} items of {value.kind}"
    return f"an array of {len(value)}" if isinstance(value, tuple) else repr(value)
