"""How a start ended, and what the lines before its end say of why."""

from collections.abc import Iterable
from typing import Literal, NamedTuple

from kvplan.explainer.record import Event, Start

Outcome = Literal["ran", "refused", "oom", "unknown"]
_OF_RUNNING = ("preempted", "slot_too_small")
_VAGUE = ("other", "traceback", "torch", "buffer")
"""Signs that name no situation: they count where there is nothing else."""
_NEAR = 400  # lines that a traceback may have, ranks interleaved


class Ending(NamedTuple):
    """The outcome; the sign of its situation, empty where nothing went wrong; and the line that shows it."""

    outcome: Outcome
    sign: str
    event: Event | None
    after_ready: bool = False


def ending(start: Start) -> Ending:
    """How ``start`` ended: it ran if it served after its last failure, or got as far as its cache without one."""
    ready = max((event.line for event in start.events if event.mark == "ready"), default=0)
    reached = max((event.line for event in start.events if event.mark in ("ready", "pool")), default=0)
    failures = [event for event in start.events if event.mark in ("refused", "oom")]
    final = [event for event in failures if event.line > (reached if event.sign == "traceback" else ready)]
    if not final or (ready and all(event.sign == "traceback" for event in final)):  # a request's, which the server outlives
        return _without_failure(start, went_on=reached > 0)
    outcome: Outcome = "oom" if any(event.mark == "oom" for event in final) else "refused"
    chosen = _telling(final, start.events)
    return Ending(outcome, _situated(chosen, start), chosen, bool(ready))


def _without_failure(start: Start, *, went_on: bool) -> Ending:
    """It ran if it got so far, or warned of what only a running one does; vLLM never runs with a pool below zero."""
    warned = [event for event in start.events if event.mark == "warned"]
    last = warned[-1] if warned else None
    pool = start.last.get("available KV cache memory")
    if pool is not None and pool.value <= 0:
        return Ending("refused", "no_pool", last)
    ran = went_on or pool is not None or any(event.sign in _OF_RUNNING for event in warned)
    return Ending("ran" if ran else "unknown", last.sign if last else "", last)


def _telling(final: list[Event], events: Iterable[Event]) -> Event:
    """The event that says most: the first of the named situations, out of memory before all others; else the first."""
    gave_up = [event for event in events if event.sign == "fit" and "already set" in event.text]
    named = [event for event in final if event.sign not in _VAGUE]
    vague = [event for event in final if event.sign not in ("other", "traceback")]
    if gave_up and any(event.mark == "oom" for event in final):
        return gave_up[-1]
    return next(iter((*named, *vague, *final)))


def _situated(event: Event, start: Start) -> str:
    """The sign of ``event``; for one that names no situation, where in the code it was."""
    if event.sign == "buffer":
        return _buffer(start)
    if event.sign != "torch":
        return event.sign
    ready = max((kept.line for kept in start.events if kept.mark == "ready" and kept.line < event.line), default=0)
    loaded = start.last["weights"].line if "weights" in start.last else 0
    least = max(ready, event.line - _NEAR)
    near = {sign: line for sign, line in start.frames.items() if least <= line <= event.line and (sign != "loading" or line > loaded)}
    for sign in _DEEPEST:
        if sign in near:
            return sign
    if ready:
        return "serving"
    return "torch"


def _buffer(start: Start) -> str:
    """Which of llama.cpp's buffers it was that could not be allocated: the next one after those that it prints."""
    if any(event.mark == "ready" for event in start.events):
        return "run_time"
    if "KV buffer" in start.last or "KV cache" in start.last:
        return "compute_buffer"
    if "model buffer" in start.last or "buffer" in start.last:
        return "kv_buffer"
    return "weights_buffer" if "n_offloadable" in start.settings or "model size" in start.last else "torch"


_DEEPEST = ("cat", "logits", "scores", "sampler_warm_up", "multimodal", "loading", "graph_capture", "profile", "sdpa", "serving")
