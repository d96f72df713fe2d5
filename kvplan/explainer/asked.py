"""What the user says of a log beside it."""

import contextlib

from kvplan.core.errors import RequestError, UnavailableError
from kvplan.hardware import names
from kvplan.specs import load_model


def check(model: str | None, gpu: str | None) -> None:
    """Raises RequestError for a model or GPU, as the user says them, that there is none; models of the Hub need no network."""
    if gpu is not None:
        names.resolve(gpu)
    if model == "-":
        raise RequestError("usage", "--model: stdin is for the log", hint="--model config.json")
    if model is not None:
        with contextlib.suppress(UnavailableError):
            load_model(model)
