"""What every rule's findings are made with."""

from kvplan.checker.case import Case, Found, Level, Tried
from kvplan.core.ledger import Fix
from kvplan.core.units import GIB


def found(rule: str, level: Level, case: Case, flags: tuple[str, ...], message: str, hint: str = "", fixes: tuple[Fix, ...] = ()) -> Found:  # noqa: PLR0913
    """A finding that points at the first of ``flags`` that the server's command has, else at its first word."""
    at = case.at(*flags)
    return Found(rule, level, case.server.file, at.line, at.column, case.server, message, hint, fixes)


def gib(n_bytes: int) -> str:
    """A size for people."""
    return f"{n_bytes / GIB:,.2f} GiB"


def on(tried: Tried) -> str:
    """On which accelerators it was tried: ``on 2 × l4``."""
    if tried.gpu is None:
        return ""
    return f"on {tried.n_gpus or 1} × {tried.gpu.gpu}"


def assumed(case: Case) -> str:
    """That nobody named the version whose rules these are."""
    return f"({case.reading.version} is assumed: nothing names a version)"


def context_flags(engine: str | None) -> tuple[str, ...]:
    """Flags that bound one sequence, in the engine's words."""
    if engine == "ollama":
        return ("num_ctx", "-c", "--ctx-size")
    return ("--max-model-len",) if engine == "vllm" else ("-c", "--ctx-size", "num_ctx")
