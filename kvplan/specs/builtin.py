"""The built-in models: one YAML file each, found by id or alias without an index."""

from pathlib import Path

from kvplan.core.errors import RequestError, near_matches

_PACKAGE = Path(__file__).parent.parent
_FOLDERS = (_PACKAGE / "_model_specs", _PACKAGE.parent / "model_specs")  # installed as a wheel; a checkout


def folder() -> Path:
    """Where the built-in specs lie."""
    return next((path for path in _FOLDERS if path.is_dir()), _FOLDERS[0])


def path_of(name: str) -> Path | None:
    """The spec file of the built-in model that ``name`` is an id or alias of, upper and lower case alike."""
    wanted = name.lower()
    if "/" not in wanted:
        direct = folder() / f"{wanted}.yaml"
        if direct.is_file():
            return direct
    for path in sorted(folder().glob("*.yaml")):
        if wanted in aliases(path):
            return path
    return None


def aliases(path: Path) -> list[str]:
    """The names in the spec's one-line ``aliases: [a, b]``, in lower case; parsing a hundred YAML files takes too long."""
    with path.open(encoding="utf-8") as file:
        for line in file:
            if line.startswith("aliases:"):
                return [name.strip().lower() for name in line[len("aliases:") :].strip(" []\n").split(",")]
    return []


def ids() -> list[str]:
    """Ids of all built-in models."""
    return sorted(path.stem for path in folder().glob("*.yaml"))


def unknown(name: str) -> RequestError:
    """The error for a name that is nothing we know, with near matches among ids and aliases."""
    owners = {alias: path.stem for path in folder().glob("*.yaml") for alias in aliases(path)}
    owners |= {name: name for name in ids()}
    close = list(dict.fromkeys(owners[match] for match in near_matches(name, owners)))
    guess = f"did you mean {' or '.join(repr(m) for m in close)}?  " if close else ""
    looked = f"looked in: model_specs ({len(ids())} models); not a file or directory"
    return RequestError("unknown_model", f"unknown model '{name}'", details=(looked,), hint=f"{guess}`kvplan models` shows all")
