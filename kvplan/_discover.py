"""Plug-ins are found by their folder: a file that is there is registered, and nothing else is."""

import importlib
import os
from types import ModuleType


def modules(package: str) -> dict[str, ModuleType]:
    """Every public module and subpackage of ``package`` by name, imported."""
    return {name: importlib.import_module(f"{package}.{name}") for name in sorted(_files(package))}


def claimants(package: str, attribute: str) -> dict[str, ModuleType]:
    """Each id in the modules' tuple ``attribute`` and the module that claims it.

    Raises RuntimeError when two modules claim one id: a bug that the first start must show.
    """
    owners: dict[str, ModuleType] = {}
    for module in modules(package).values():
        for key in getattr(module, attribute):
            if key in owners:
                raise RuntimeError(f"{attribute} '{key}' is claimed by {owners[key].__name__} and {module.__name__}")
            owners[key] = module
    return owners


def claimant(package: str, attribute: str, key: str) -> ModuleType | None:
    """The module or subpackage whose tuple ``attribute`` holds ``key``; imports only those whose text mentions it.

    Importing every adapter costs more than a whole estimate, reading them does not.
    """
    mentions = f'"{key}"'
    # most ids begin as their file's name does
    files = _files(package)
    alike = {name: len(os.path.commonprefix((name, key))) for name in files}  # noqa: RUF071  # names, not paths
    for name, path in sorted(files.items(), key=lambda file: (-alike[file[0]], file)):
        with open(path, encoding="utf-8") as file:
            if mentions not in file.read():
                continue
        module = importlib.import_module(f"{package}.{name}")
        if key in getattr(module, attribute, ()):  # a file may mention what another one claims
            return module
    return None


def _files(package: str) -> dict[str, str]:
    """The file of each public module and subpackage."""
    files: dict[str, str] = {}
    for folder in importlib.import_module(package).__path__:
        for entry in os.listdir(folder):
            path = os.path.join(folder, entry)
            if entry.endswith(".py"):
                files[entry.removesuffix(".py")] = path
            elif os.path.isfile(os.path.join(path, "__init__.py")):
                files[entry] = os.path.join(path, "__init__.py")
    return {name: path for name, path in files.items() if not name.startswith("_")}
