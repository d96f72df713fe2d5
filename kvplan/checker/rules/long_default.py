"""KV508: nobody said how long a sequence may be, and the default is far above what is typical here, or most of the pool."""

from collections.abc import Iterator

from kvplan.checker.case import Case, Found, Tried
from kvplan.checker.wording import context_flags, found, on
from kvplan.core.ledger import Fix
from kvplan.estimator import Estimate

_FAR = 8  # times the typical length
_LONG_TOKENS = 65_536  # of a default that few requests need
_FEW = 4  # sequences of it, which then fill the pool


def check(case: Case) -> Iterator[Found]:
    """A note: by what the project's settings call typical, else by how few of the longest sequences the pool holds."""
    if case.reading.ctx_tokens is not None:
        return
    for tried in case.tried:
        if tried.estimate is None or tried.estimate.refusals:
            continue
        one = _beyond_usual(case, tried.estimate) if case.typical.ctx_tokens else _fills_the_pool(case, tried, tried.estimate)
        if one is not None:
            yield one
            return


def _beyond_usual(case: Case, estimate: Estimate) -> Found | None:
    usual, longest = case.typical.ctx_tokens or 0, estimate.workload.ctx_tokens
    if longest < _FAR * usual:
        return None
    return _said(case, estimate, f"the default of {longest:,} tokens holds, and {usual:,} are typical here", 2 * usual)


def _fills_the_pool(case: Case, tried: Tried, estimate: Estimate) -> Found | None:
    longest = estimate.workload.ctx_tokens
    holds = estimate.capacity.max_concurrency if estimate.capacity else None
    if holds is None or longest < _LONG_TOKENS or holds[1] >= _FEW:
        return None
    what = f"the default of {longest:,} tokens holds, and the pool {on(tried)} takes about {holds[1]:.1f} sequences of it"
    return _said(case, estimate, f"{what}: a few long requests fill it", longest // _FEW)


def _said(case: Case, estimate: Estimate, why: str, enough: int) -> Found:
    flag = context_flags(case.reading.engine)[0]
    effect = -(estimate.kv.bytes_per_token * (estimate.workload.ctx_tokens - enough))
    fixes = (Fix(flag, "default", str(enough), effect),)
    return found("KV508", "note", case, (), f"no context was said: {why}", f"say what you need: {flag} {enough}, for example", fixes)
