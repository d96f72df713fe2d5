"""A made-up chat as text: turn by turn, what edits undo, what is kept of a conversation."""

from collections.abc import Iterator

from kvplan.core.units import format_size
from kvplan.perf import Range
from kvplan.prefixes import Prefix
from kvplan.prefixes.chat import Chat
from kvplan.prefixes.keeping import Kept
from kvplan.prefixes.saving import first_token
from kvplan.render.speed import short
from kvplan.render.table import aligned

_MOST_TURNS = 24


def blocks(found: Prefix) -> Iterator[str]:
    """The turns, and what a conversation leaves."""
    chat = found.chat
    assert chat is not None
    yield "\n".join(_turns(found, chat))
    yield "\n".join(_sums(found, chat))
    if chat.kept is not None:
        yield "\n".join(_kept(chat.kept, found.serving.engine))


def _turns(found: Prefix, chat: Chat) -> Iterator[str]:
    """The mean over all chats; of many turns some are left out in the middle."""
    question = found.serving.estimate.performance.of if found.serving.estimate and found.serving.estimate.performance else None
    timed = ("first token s", "without") if question else ()
    rows: list[tuple[str, ...]] = [("turn", "prompt", "found", "computed", "undone", *timed)]
    n = chat.spec.sessions
    for turn in chat.turns:
        prompt, hit = turn.prompt_tokens // n, turn.hit_tokens // n
        times = (short(first_token(question, prompt, hit).best), short(first_token(question, prompt, 0).best)) if question else ()
        undone = f"{turn.invalidated_tokens // n:,}" if turn.invalidated_tokens else ""
        rows.append((f"{turn.turn}", f"{prompt:,}", f"{hit:,}", f"{prompt - hit:,}", undone, *times))
    if len(rows) > _MOST_TURNS + 1:
        half = _MOST_TURNS // 2
        rows = [*rows[: half + 1], ("…", *("" for _ in rows[0][1:])), *rows[-half:]]
    yield from aligned(rows, left=frozenset())


def _sums(found: Prefix, chat: Chat) -> Iterator[str]:
    n, n_turns = chat.spec.sessions, chat.spec.turns
    computed = found.prompt_tokens - found.hit_tokens
    growing = ", growing with the square of its turns" if n_turns > 1 and not chat.spec.keep else ""
    yield f"a chat reads {found.prompt_tokens // n:,} tokens without reuse{growing}; {computed // n:,} with it"
    undone = sum(turn.invalidated_tokens for turn in chat.turns)
    if undone:
        yield f"edits and cuts undo {undone // n:,} tokens a chat that were kept: all behind the first one that changed"


_WHERE = {
    "vllm": " (--kv-offloading-size)",
    "llama.cpp": " (--slot-save-path, --cache-ram)",
}


def _kept(kept: Kept, engine: str) -> Iterator[str]:
    state = f", {format_size(kept.state_bytes)} of it states" if kept.state_bytes else ""
    yield f"a conversation of {kept.n_tokens:,} tokens is {format_size(kept.bytes)} to keep{_WHERE.get(engine, '')}{state}, for each device"
    if kept.checkpoints is not None:
        saved = kept.checkpoints
        what = "states can't be cut back" if saved.kind == "recurrent" else "windows forget what is before them"
        apart = f"every {saved.every_tokens:,} tokens" if saved.n_copies > 1 else f"at a multiple of {saved.every_tokens:,} tokens"
        yield f"{what}: an edit goes back to the checkpoint before it, {saved.n_copies:,} of {format_size(saved.bytes_each)}, {apart}"
    if kept.load_s is not None and kept.compute_s is not None:
        better = (
            "load it" if kept.load_s.high < kept.compute_s.low else "compute it" if kept.compute_s.high < kept.load_s.low else "about even"
        )
        yield f"back from the host's memory in {_span(kept.load_s)} s, computed again in {_span(kept.compute_s)} s: {better}"


def _span(found: Range) -> str:
    return f"{short(found.low)} – {short(found.high)}"
