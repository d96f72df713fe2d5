"""KV508: nobody said how long a sequence may be, and the default is far above what is typical here."""

from collections.abc import Iterator

from kvplan.checker.case import Case, Found
from kvplan.checker.wording import context_flags, found
from kvplan.core.ledger import Fix

IDS = ("KV508",)
_FAR = 8  # times the typical length


def check(case: Case) -> Iterator[Found]:
    """A note, only where the project's settings say what is typical."""
    usual = case.typical.ctx_tokens
    for estimate in (tried.estimate for tried in case.tried if tried.estimate):
        longest = estimate.model.max_ctx_tokens
        if usual is None or case.reading.ctx_tokens is not None or longest is None or longest < _FAR * usual:
            continue
        flag = context_flags(case.reading.engine)[0]
        message = f"no context was said: the model's {longest:,} tokens hold, and {usual:,} are typical here"
        effect = -(estimate.kv.bytes_per_token * (longest - usual))
        yield found("KV508", "note", case, (), message, f"{flag} {2 * usual} would do", (Fix(flag, "default", str(2 * usual), effect),))
        return
