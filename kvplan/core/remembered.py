"""What was found before of a model, or of a deployment, as every setting that is tried asks for much of it again."""

from collections.abc import Callable
from functools import wraps
from typing import Any, Generic, TypeVar

from kvplan.core.model import ModelSpec

Found = TypeVar("Found")


class Remembered(Generic[Found]):
    """Found things by the object that they are of and a key: models are too large to be looked up by what they hold."""

    def __init__(self, most: int) -> None:
        """Nothing yet; with more than ``most`` things it begins anew."""
        self._found: dict[tuple[object, ...], tuple[object, Found]] = {}
        self._most = most

    def get(self, of: object, key: tuple[object, ...], find: Callable[[], Found]) -> Found:
        """What ``find`` found of ``of`` under ``key``. The object is kept, so that no other one gets its id."""
        known = id(of), *key
        if known not in self._found:
            if len(self._found) >= self._most:
                self._found.clear()
            self._found[known] = of, find()
        return self._found[known][1]


def once(find: Callable[[ModelSpec], Found]) -> Callable[[ModelSpec], Found]:
    """``find``, which is asked once for each model object."""
    found: Remembered[Found] = Remembered(256)

    @wraps(find)
    def remembered(model: ModelSpec) -> Found:
        return found.get(model, (), lambda: find(model))

    return remembered


class cached(Generic[Found]):  # reads as what it stands for
    """``functools.cached_property`` without the lock that Python 3.11 takes whenever something is found; found twice is no harm here."""

    def __init__(self, find: Callable[[Any], Found]) -> None:
        """A property of which ``find`` makes the value when it is first asked for."""
        self._find = find
        self.__doc__ = find.__doc__

    def __set_name__(self, owner: type, name: str) -> None:
        """Where the value is kept: in the object, under the property's own name, so that this one is asked no more."""
        self._name = name

    def __get__(self, instance: object, owner: type) -> Found:
        """The value, made."""
        found = instance.__dict__[self._name] = self._find(instance)
        return found
