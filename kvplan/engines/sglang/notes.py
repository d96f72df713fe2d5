"""What the user should know of these settings."""

from collections.abc import Iterator

from kvplan.core import serving_checks, versions
from kvplan.core.ledger import Finding
from kvplan.core.pooled import Rank, sized
from kvplan.core.serving_checks import Longest
from kvplan.engines.sglang.settings import Settings
from kvplan.engines.sglang.versions import VERSIONS


def findings(settings: Settings, ranks: tuple[Rank, ...], *, newer: bool) -> tuple[Finding, ...]:
    """Notes on the version, on contexts that the pool does not hold, on states."""
    told = (versions.newer("SGLang", settings.version, VERSIONS[-1]),) if newer else ()
    hint = "more of --mem-fraction-static, --kv-cache-dtype fp8_e4m3, or more GPUs"
    longest = Longest(settings.context_length, "--context-length", "SGLang starts, and refuses longer requests", hint)
    return (*told, *serving_checks.short(longest, ranks), *_states(settings, ranks))


def _states(settings: Settings, ranks: tuple[Rank, ...]) -> Iterator[Finding]:
    """Slots of states bound how many sequences run at once."""
    states, found = ranks[0].pool.states, sized(ranks, 1)
    if states is None or ranks[0].budget is None or not found.tokens:
        return
    most = found.slots // states.n_each
    if most < (settings.max_running_requests or most):
        slots = f"{found.slots} slots of states, {states.n_each} of which a running request takes"
        message = f"max_running_requests is capped to {most} by the {slots}"
        yield Finding("KV357", "warning", message, "raise --mamba-full-memory-ratio, or lower --max-running-requests")
