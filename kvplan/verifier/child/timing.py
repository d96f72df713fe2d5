"""Whole passes against a clock: what a person who waits for tokens would see."""

import gc
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Protocol

from kvplan.verifier.timings import Pass

Clock = Callable[[], float]


class Loop(Protocol):
    """A prompt and the steps after it."""

    def prefill(self) -> None:
        """One forward over the prompt."""
        ...

    def decoding(self) -> "AbstractContextManager[object]":
        """What decode steps run in."""
        ...

    def decode(self) -> None:
        """One token more."""
        ...


def timed(start: Callable[[], Loop], *, n_steps: int, finish: Callable[[], None], clock: Clock) -> Pass:
    """One pass, each forward timed by itself. ``start`` makes it ready; ``finish`` waits for what the device has queued.

    Waiting after each step costs next to nothing and changes no allocation: generate() asks each step, too, whether to stop.
    """
    gc.collect()  # what only the collector holds of the pass before; the allocator keeps its memory, as it does for anybody
    loop = start()
    finish()
    prefill_s = _seconds(loop.prefill, finish, clock)
    with loop.decoding():
        return Pass(prefill_s, tuple(_seconds(loop.decode, finish, clock) for _ in range(n_steps)))


def _seconds(act: Callable[[], None], finish: Callable[[], None], clock: Clock) -> float:
    began = clock()
    act()
    finish()
    return clock() - began
