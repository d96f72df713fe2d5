"""A checked server as one row: what every format of a check shows of it."""

from typing import NamedTuple

from kvplan.checker.bounds import is_certain
from kvplan.checker.case import Case, Tried
from kvplan.core.ledger import Verdict

_ORDER: tuple[Verdict, ...] = ("does_not_fit", "tight", "fits", "unknown")


class Row(NamedTuple):
    """One server, in the words of the contract; the verdict is the worst of the accelerators that it may get."""

    file: str
    line: int
    kind: str
    name: str | None
    engine: str | None
    version: str | None
    version_from: str | None
    model: str | None
    ctx_tokens: int | None
    concurrency: int | None
    tp: int | None
    pp: int | None
    dp: int | None
    gpu: str | None
    n_gpus: int | None
    verdict: Verdict
    needed_bytes: int | None
    usable_bytes: int | None
    unresolved: tuple[str, ...]


def row(case: Case) -> Row:
    """The server's row."""
    server, reading = case.server, case.reading
    tried = min(case.tried, key=lambda tried: _ORDER.index(_verdict(case, tried)), default=None)
    estimate = tried.estimate if tried else None
    return Row(
        file=server.file,
        line=server.line,
        kind=server.kind,
        name=server.name,
        engine=reading.engine,
        version=reading.version,
        version_from=reading.version_from,
        model=reading.model.text if reading.model else None,
        ctx_tokens=reading.ctx_tokens,
        concurrency=reading.concurrency,
        tp=reading.tp,
        pp=reading.pp,
        dp=reading.dp,
        gpu=tried.gpu.gpu if tried and tried.gpu else None,
        n_gpus=tried.n_gpus if tried else server.gpus.n_gpus,
        verdict=_verdict(case, tried),
        needed_bytes=estimate.needed.best if estimate else None,
        usable_bytes=estimate.fullest.usable_bytes if estimate else None,
        unresolved=case.unresolved,
    )


def _verdict(case: Case, tried: Tried | None) -> Verdict:
    if tried is None or tried.estimate is None:
        return "unknown"
    if is_certain(case, tried):
        return "does_not_fit"
    if tried.estimate.refusals:
        return "tight"
    pool = tried.estimate.capacity.max_concurrency if tried.estimate.capacity else None
    if pool is None:
        return tried.estimate.verdict
    return "fits" if pool[0] >= 1 else "tight"  # it starts, and holds at least one longest sequence
