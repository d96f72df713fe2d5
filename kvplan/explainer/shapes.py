"""Every shape that kvplan knows: those beside each engine that it models, and those of the folder ``logs``; found by folder."""

import importlib
from functools import cache
from pkgutil import iter_modules

from kvplan import _discover, engines
from kvplan.explainer import logs
from kvplan.explainer.templates import Template, compiled

PRECEDENCE = ("tensorrt-llm", "sglang", "tgi", "ollama", "vllm", "llama.cpp", "transformers")
"""Who a log is of where several are seen in it: those that run on another come before it."""


@cache
def templates() -> tuple[Template, ...]:
    """All of them, of every engine."""
    modules = [*_discover.modules(logs.__name__).values()]
    for package in iter_modules(engines.__path__, f"{engines.__name__}."):
        folder = importlib.import_module(package.name)
        names = [module.name for module in iter_modules(folder.__path__, f"{package.name}.") if "log_" in module.name]
        modules += [importlib.import_module(name) for name in names]
    return tuple(compiled(shape, module.ENGINE) for module in modules for shape in module.SHAPES)
