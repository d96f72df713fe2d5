"""Many files in several processes, where that pays: the same parts in the same order, however many share the work."""

import contextlib
import multiprocessing
import os
import signal
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from typing import NamedTuple

from kvplan.checker import walk
from kvplan.checker.config import Config
from kvplan.checker.reader import Part, Reader
from kvplan.core.errors import UnavailableError

_CHUNK = 32  # files at a time: some hundredths of a second
_PAYS_S = {
    "fork": 0.5,
    "spawn": 3.0,
}  # seconds of work left that are more than starting costs, which imports everything again in the latter


class Job(NamedTuple):
    """What a process must know to read any of the files."""

    tree: walk.Tree
    config: Config
    online: bool


def n_cpus() -> int:
    """As many as this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def method() -> str:
    """How processes start: as copies where the system has that and no thread of ours could hold a lock in them."""
    return "fork" if sys.platform == "linux" and threading.active_count() == 1 else "spawn"


def read(places: Sequence[walk.Place], job: Job, jobs: int) -> Iterator[Part]:
    """What the files hold, in their order; by itself until it is seen that others would help.

    Raises RequestError like Reader, and UnavailableError where a process dies.
    """
    reader = Reader(job.tree, job.config, online=job.online)
    chunks = [places[i : i + _CHUNK] for i in range(0, len(places), _CHUNK)]
    spent, how = 0.0, method()
    for i, chunk in enumerate(chunks):
        if jobs > 1 and i and spent / i * (len(chunks) - i) > _PAYS_S[how]:
            yield from _shared(chunks[i:], job, min(jobs, len(chunks) - i), how)
            return
        start = time.perf_counter()
        part = reader.read(chunk)
        spent += time.perf_counter() - start if i or len(chunks) == 1 else 0  # the first imports what it needs
        yield part


def _shared(chunks: Sequence[Sequence[walk.Place]], job: Job, jobs: int, how: str) -> Iterator[Part]:
    pool = ProcessPoolExecutor(jobs, multiprocessing.get_context(how), _begin, (job,))
    try:
        with _uninterrupted():
            parts = pool.map(_read, chunks)
        yield from parts
    except BrokenProcessPool:
        raise UnavailableError("lost_process", "a process that read files was killed", hint="--jobs 1 reads them in this one") from None
    finally:
        pool.shutdown(cancel_futures=True)


@contextlib.contextmanager
def _uninterrupted() -> Iterator[None]:
    """Ctrl-C is this process's to answer: those that start inside do not hear it."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


_reader: Reader | None = None  # of a process that was started


def _begin(job: Job) -> None:
    global _reader  # what every call in this process shares
    _reader = Reader(job.tree, job.config, online=job.online)


def _read(places: Sequence[walk.Place]) -> Part:
    assert _reader is not None
    return _reader.read(places)
