"""What the user should know of these settings."""

from collections.abc import Iterator

from kvplan.core.ledger import Finding
from kvplan.core.model import ModelSpec
from kvplan.core.pooled import Rank, sized
from kvplan.engines.sglang.settings import Settings
from kvplan.engines.sglang.versions import VERSIONS


def findings(model: ModelSpec, settings: Settings, ranks: tuple[Rank, ...], *, newer: bool) -> tuple[Finding, ...]:
    """Notes on the version, on contexts that the pool does not hold, on states."""
    return (*_version(settings, newer=newer), *_short(settings, ranks), *_states(settings, ranks))


def _version(settings: Settings, *, newer: bool) -> Iterator[Finding]:
    if newer:
        message = f"SGLang {settings.version} is newer than the versions that are modeled: the rules of {VERSIONS[-1]} are used"
        yield Finding("KV320", "warning", message, "bounds are wider")


def _short(settings: Settings, ranks: tuple[Rank, ...]) -> Iterator[Finding]:
    """A context that was asked for and that the pool does not hold: requests are then bounded by the pool."""
    asked, found = settings.context_length, sized(ranks, 1)
    if asked is None or ranks[0].budget is None or not found.tokens:
        return
    longest = ranks[0].pool.longest(found.tokens, found.slots, asked)
    if longest < asked:
        message = (
            f"--context-length {asked}: the pool holds sequences of up to {longest:,} tokens; SGLang starts, and refuses longer requests"
        )
        yield Finding("KV356", "warning", message, "more of --mem-fraction-static, --kv-cache-dtype fp8_e4m3, or more GPUs")


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
