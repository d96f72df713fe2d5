"""KV507: slots that divide the context leave little to each."""

from collections.abc import Iterator

from kvplan.checker.case import Case, Found
from kvplan.checker.wording import found
from kvplan.core.ledger import Fix

_SHORT_TOKENS = 4096


def check(case: Case) -> Iterator[Found]:
    """A warning where ``-c`` was written with several slots and each gets less than people usually mean."""
    for estimate in (tried.estimate for tried in case.tried if tried.estimate):
        total, slot, slots = (estimate.settings.get(key) for key in ("n_ctx", "n_ctx_seq", "n_seq_max"))
        if not (isinstance(total, int) and isinstance(slot, int) and isinstance(slots, int)) or slots < 2 or slot >= total:
            continue
        needed = case.typical.ctx_tokens or _SHORT_TOKENS
        if slot >= min(needed, estimate.model.max_ctx_tokens or needed) or case.reading.ctx_tokens is None:
            continue
        message = f"{slots} slots divide a context of {total:,} tokens: each request gets {slot:,}"
        effect = estimate.kv.bytes_per_token * total * (slots - 1)
        fix = Fix("-c", str(case.reading.ctx_tokens), str(total * slots), effect)
        hint = f"-c {total * slots} for {total:,} tokens each, or --kv-unified to let them share"
        yield found("KV507", "warning", case, ("-c", "--ctx-size", "-np", "--parallel"), message, hint, (fix,))
        return
