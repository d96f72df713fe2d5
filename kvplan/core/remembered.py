"""What was found of models before, as every setting that is tried asks for much of it again."""

from collections.abc import Callable
from functools import wraps
from typing import Generic, TypeVar

from kvplan.core.model import ModelSpec

Found = TypeVar("Found")


class Remembered(Generic[Found]):
    """Found things by the model object and a key: specs are too large to be looked up by what they hold."""

    def __init__(self, most: int) -> None:
        """Nothing yet; with more than ``most`` things it begins anew."""
        self._found: dict[tuple[object, ...], tuple[ModelSpec, Found]] = {}
        self._most = most

    def get(self, model: ModelSpec, key: tuple[object, ...], find: Callable[[], Found]) -> Found:
        """What ``find`` found of ``model`` under ``key``. The model is kept, so that no other one gets its id."""
        known = id(model), *key
        if known not in self._found:
            if len(self._found) >= self._most:
                self._found.clear()
            self._found[known] = model, find()
        return self._found[known][1]


def once(find: Callable[[ModelSpec], Found]) -> Callable[[ModelSpec], Found]:
    """``find``, which is asked once for each model object."""
    found: Remembered[Found] = Remembered(256)

    @wraps(find)
    def remembered(model: ModelSpec) -> Found:
        return found.get(model, (), lambda: find(model))

    return remembered
