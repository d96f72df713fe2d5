"""What people should know about a replay: how it was made, what does not hold, what breaks prefixes."""

from collections.abc import Iterable

from kvplan.core.ledger import Finding
from kvplan.prefixes.answer import Told
from kvplan.prefixes.log import Log
from kvplan.prefixes.replaying import Replay
from kvplan.prefixes.serving import Serving

_CAUSES = {
    "timestamp": Finding(
        "KV644", "warning", "a date or time stands in front of text that repeats", "put it behind everything that repeats, or leave it out"
    ),
    "id": Finding(
        "KV645", "warning", "an id or a nonce stands in front of text that repeats", "put it into a header or at the end of the prompt"
    ),
    "per_user": Finding(
        "KV646", "warning", "a user's own text stands in front of text that all share", "first what all share, then what is the user's"
    ),
    "private_text": Finding(
        "KV647", "warning", "text of one request stands in front of text that repeats", "fixed text first, then documents and questions"
    ),
    "tool_order": Finding("KV648", "warning", "the same tools come in another order", "sort them by name before each request"),
    "key_order": Finding("KV649", "warning", "the same JSON comes with its keys in another order", "write it with sorted keys"),
    "system_variants": Finding(
        "KV650", "note", "several system texts share most of their words", "one system text for all; what differs goes behind it"
    ),
    "front_cut": Finding("KV651", "warning", "old turns are cut from the front of the history", "cut rarely, and then many turns at once"),
    "whitespace": Finding("KV652", "warning", "the same text comes with other white space", "build prompts from one template"),
}

_OFF = {"prefix_caching": "--no-enable-prefix-caching", "radix_cache": "--disable-radix-cache"}
"""Flags that turn reuse off, by the settings that then say so."""


def of_breaks(causes: Iterable[Told]) -> Iterable[Finding]:
    """A finding for each cause, with the place that costs most."""
    for told in causes:
        cause, known = told.cause, _CAUSES[told.cause.kind]
        example = cause.example
        requests = f"{cause.n_requests:,} request{'s' if cause.n_requests > 1 else ''}"
        where = f"from token {cause.first_at:,} on in {requests} (line {example.line} beside line {example.other_line})"
        cost = f"behind it stand {100 * told.share_of_misses:.0f} % of the tokens that are computed"
        yield known._replace(message=f"{known.message}: {where}; {cost}", hint=_hint(known.hint, told))


def _hint(words: str, told: Told) -> str:
    return words if told.mended_rate is None else f"{words}: {100 * told.mended_rate:.1f} % of the tokens are found then"


def of_log(log: Log, replay: Replay) -> Iterable[Finding]:
    """How the log was read."""
    if replay.kinds["text"] + replay.kinds["chat"] and replay.tokens.how == "bytes":
        yield Finding(
            "KV641",
            "note",
            "text is counted as 4 bytes of UTF-8 a token, and chats in a plain rendering: shares hold, numbers of tokens are approximate",
            "--tokenizer tokenizer.json, or the directory of a model that has one",
        )
    if log.n_skipped:
        yield Finding(
            "KV642", "warning", f"{log.n_skipped:,} of {log.n_lines:,} lines hold no request and were left out: {'; '.join(log.skipped)}"
        )
    if replay.kinds["chat"] and not replay.n_answered:
        yield Finding(
            "KV643",
            "note",
            "the log has no answers: of a chat's next turn the last answer is not found, though the engine has it",
            "log the answer's text beside the request, as answer or response",
        )
    if replay.n_untimely:
        yield Finding(
            "KV657",
            "note",
            f"{replay.n_untimely:,} requests are older than the one before them: the order of the file is the one that is replayed",
            "sort the log by the time of arrival",
        )
    if replay.n_media:
        yield Finding("KV659", "note", f"{replay.n_media:,} pictures or sounds stand as their address, not as the tokens that they become")


def of_cache(replay: Replay, serving: Serving, thrash_tokens: int | None) -> Iterable[Finding]:
    """What the cache does with it."""
    pool = serving.pool_tokens
    if pool is not None and thrash_tokens is not None and pool < thrash_tokens:
        yield Finding(
            "KV640",
            "warning",
            f"the pool holds {pool:,} tokens, and only from {thrash_tokens:,} on are prefixes still there when they come again",
            "a larger pool (a card, a cache in 8 bits, tensor parallelism), or requests of one session to one replica",
        )
    if len(replay.apart) > 1:
        yield Finding("KV653", "note", f"{len(replay.apart):,} models, adapters or salts share the pool, and no prefix")
    if replay.n_too_long:
        yield Finding(
            "KV654",
            "warning",
            f"{replay.n_too_long:,} requests are longer than the pool: they are left out",
            "a larger pool, or a limit on prompts",
        )


def of_engine(replay: Replay, serving: Serving) -> Iterable[Finding]:
    """How far the replay is the engine's own, and what it would not take."""
    found = serving.estimate
    limit = serving.limit_tokens
    if found is not None and limit is not None and replay.longest > limit:
        said = f"{serving.engine} is told to take" if serving.commanded else f"{found.model.id} was made for"
        message = f"the longest request holds {replay.longest:,} tokens, and {said} {limit:,}"
        yield Finding("KV201", "warning", message, "cut or summarize histories; of a chat say keep=N")
    if serving.n_slots is not None:
        each = "the one slot" if serving.n_slots == 1 else f"each of {serving.n_slots} slots"
        yield Finding(
            "KV658",
            "note",
            f"modeled: {each} keeps its last prompt; what --cache-ram saves and --cache-reuse shifts is left out",
            "as many slots as chats that go on at once: -np, here --slots",
        )
    if found is None or serving.n_slots is not None:
        return
    off = next((flag for setting, flag in _OFF.items() if found.settings.get(setting) is False), None)
    if off is not None:
        yield Finding(
            "KV656", "warning", "the engine keeps no prefixes with these settings: this is what it would find", f"leave out {off}"
        )
    if serving.n_groups > 1 or found.kv.state_bytes_per_sequence:
        yield Finding(
            "KV655",
            "note",
            "layers that differ share the pool: each group is taken to keep all blocks, each state to be there: hits are approximate",
        )
