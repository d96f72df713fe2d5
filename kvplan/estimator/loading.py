"""Models by the names that people call them, read and counted once as long as their files stay as they are."""

import os
from functools import lru_cache

from kvplan.core.model import ModelSpec
from kvplan.estimator.answer import Size
from kvplan.specs import load_model
from kvplan.specs.config import UnknownArchitectureError


def loaded(ref: str) -> ModelSpec:
    """The model that ``ref`` names; stdin is read once. Raises KvplanError like ``load_model``."""
    return sized(ref, stamp(ref))[0]


def stamp(ref: str) -> tuple[int, int] | None:
    """What changes when the file behind ``ref`` does."""
    try:
        found = os.stat(ref)
    except (OSError, ValueError):  # ValueError: a name with a NUL or half a character
        return None
    return found.st_mtime_ns, found.st_size


@lru_cache(maxsize=256)
def sized(ref: str, stamp: tuple[int, int] | None) -> tuple[ModelSpec, Size]:
    """The model and its size; many requests for one model read and count it once, as long as its file stays as it is."""
    try:
        model = load_model(ref)
    except UnknownArchitectureError as problem:
        problem.offering(ref)
        raise
    return model, Size(model.n_params, model.n_active_params)
