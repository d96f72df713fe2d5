"""A checked server as one row: what every format of a check shows of it."""

from typing import NamedTuple

from kvplan.checker.case import Case
from kvplan.checker.verdicts import verdict, worst
from kvplan.core.ledger import Verdict


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
    kv_tokens: int | None
    max_concurrency: float | None
    unresolved: tuple[str, ...]


def row(case: Case) -> Row:
    """The server's row."""
    server, reading = case.server, case.reading
    tried = worst(case)
    estimate = tried.estimate if tried else None
    capacity = estimate.capacity if estimate else None
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
        verdict=verdict(case, tried),
        needed_bytes=estimate.needed.best if estimate else None,
        usable_bytes=estimate.fullest.usable_bytes if estimate else None,
        kv_tokens=capacity.kv_tokens.best if capacity and capacity.kv_tokens else None,
        max_concurrency=capacity.max_concurrency[1] if capacity and capacity.max_concurrency else None,
        unresolved=case.unresolved,
    )
