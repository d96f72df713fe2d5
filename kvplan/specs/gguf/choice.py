"""Which of a folder's or repository's GGUF files are models, and which one is meant."""

import re
from collections.abc import Mapping

from kvplan.core.errors import RequestError
from kvplan.core.units import format_size
from kvplan.specs.gguf.splits import parts

_NO_MODEL = re.compile(r"mmproj|imatrix", re.IGNORECASE)  # as llama.cpp's tools name them; their headers say it too
_MOST_LISTED = 50


def choose(files: Mapping[str, int], where: str, *, prefix: str = "") -> str:
    """The one model among ``files`` (names and bytes): its file, or the first of its parts. ``where`` names the folder in errors,
    ``prefix`` stands before a file's name where people must write it.

    Raises RequestError where there is none but projectors and the like, and where there are several: ``details`` lists
    them with their sizes.
    """
    held = [name for name in files if name.lower().endswith(".gguf")]
    models = _models({name: files[name] for name in held if not _NO_MODEL.search(name.rpartition("/")[2])})
    if not models:
        found = ", ".join(held[:5]) or "no GGUF file"
        raise RequestError("no_model", f"{where}: expected a model's .gguf file, found {found}", hint="projectors (mmproj) are no models")
    if len(models) > 1:
        lines = [f"{format_size(n_bytes):>11}  {name}{_said(n)}" for name, (n_bytes, n) in sorted(models.items())]
        more = [f"… and {len(lines) - _MOST_LISTED} more"] if len(lines) > _MOST_LISTED else []
        text = f"{where}: {len(models)} GGUF models; expected the name of one"
        hint = f"name the file, as in {prefix}{next(iter(sorted(models)))}"
        raise RequestError("several_models", text, hint=hint, details=(*lines[:_MOST_LISTED], *more))
    return next(iter(models))


def tagged(files: Mapping[str, int], tag: str) -> str | None:
    """The model that a quantization names, as -hf org/name:Q4_K_M does: the first of its parts, None where none bears that name.

    Of several (Q4_K_M and UD-Q4_K_M) it is the one with the shortest name.
    """
    named = re.compile(rf"(?:^|[-./]){re.escape(tag)}(?=[-.])", re.IGNORECASE)
    held = {name: size for name, size in files.items() if name.lower().endswith(".gguf") and not _NO_MODEL.search(name.rpartition("/")[2])}
    return min((name for name in _models(held) if named.search(name)), key=lambda name: (len(name), name), default=None)


def _models(files: Mapping[str, int]) -> dict[str, tuple[int, int]]:
    """Bytes and number of files of each model, by its first part."""
    models: dict[str, tuple[int, int]] = {}
    for name, n_bytes in files.items():
        first = parts(name)[0]
        held, n = models.get(first, (0, 0))
        models[first] = held + n_bytes, n + 1
    return models


def _said(n: int) -> str:
    return f" ({n} parts)" if n > 1 else ""
