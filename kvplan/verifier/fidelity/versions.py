"""Versions of what a run computes with."""

from importlib.metadata import PackageNotFoundError, version

from kvplan import __version__

PACKAGES = ("torch", "transformers", "gguf", "optimum-quanto", "hqq")


def installed() -> dict[str, str | None]:
    """kvplan's own and those of packages, None of one that is not installed."""
    return {"kvplan": __version__, **{name: _of(name) for name in PACKAGES}}


def _of(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None
