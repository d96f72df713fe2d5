"""Plug-ins are found by their folder: a file that is there is registered, and nothing else is."""

import importlib
import pkgutil
from pathlib import Path
from types import ModuleType


def modules(package: str) -> dict[str, ModuleType]:
    """Every public module of ``package`` by name, imported."""
    found = importlib.import_module(package)
    names = (info.name for info in pkgutil.iter_modules(found.__path__) if not info.name.startswith("_"))
    return {name: importlib.import_module(f"{package}.{name}") for name in sorted(names)}


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
    for folder in importlib.import_module(package).__path__:
        files = [*Path(folder).glob("[!_]*.py"), *Path(folder).glob("[!_]*/__init__.py")]
        for path in sorted(files, key=lambda file: (file.stem != key, file)):  # most ids are the name of their file
            if mentions in path.read_text(encoding="utf-8"):
                name = path.parent.name if path.stem == "__init__" else path.stem
                module = importlib.import_module(f"{package}.{name}")
                if key in getattr(module, attribute):
                    return module
    return None
