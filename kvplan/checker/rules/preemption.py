"""KV502: the pool does not hold the sequences that are let in."""

from collections.abc import Iterator

from kvplan.checker.case import Case, Found
from kvplan.checker.wording import found, on, spelled
from kvplan.core.ledger import Fix

_USUAL_TOKENS = 1024  # of a sequence, where the settings say nothing


def check(case: Case) -> Iterator[Found]:
    """A warning where sequences of the typical length outgrow the pool before ``max_num_seqs`` of them run.

    Only where somebody chose how many run: the engine's default is a ceiling for small models, no plan.
    """
    wanted = case.typical.concurrency or case.reading.concurrency
    for tried in case.tried:
        estimate = tried.estimate
        tokens = estimate.capacity.kv_tokens if estimate and estimate.capacity else None
        if estimate is None or estimate.refusals or tokens is None or wanted is None:
            continue
        length = min(case.typical.ctx_tokens or _USUAL_TOKENS, case.reading.ctx_tokens or estimate.workload.ctx_tokens)
        if tokens.high >= wanted * length:
            continue
        holds = tokens.best // length
        message = (
            f"the pool holds {tokens.best:,} tokens {on(tried)}, about {holds:,} sequences of {length:,}: "
            f"with {wanted:,} at once the newest are dropped and computed again"
        )
        flag = spelled(case.reading.engine).sequences
        fixes = (Fix(flag, str(case.reading.concurrency), str(max(1, holds)), None),) if case.reading.concurrency else ()
        yield found(
            "KV502",
            "warning",
            case,
            (flag,),
            message,
            f"{flag} {max(1, holds)}, a cache in 8 bits, or more GPUs",
            fixes,
        )
