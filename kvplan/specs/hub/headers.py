"""The first bytes of many files at once: a model of a hundred shards is read in a few round trips."""

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

from kvplan.specs.hub import progress
from kvplan.specs.hub.remote import RemoteFile
from kvplan.specs.hub.repos import Repo
from kvplan.specs.safetensors import FIRST_READ_BYTES
from kvplan.specs.sources import Source

MAX_THREADS = 8
MAX_PRELOADED_BYTES = 4 * 2**20  # of one file; what claims to have more is read when its turn comes
_GGUF_FIRST_BYTES = 32 * 2**10


def opened(repo: Repo, names: Sequence[str]) -> dict[str, Source]:
    """The files ``names``; of remote ones the headers are at hand. Raises KvplanError where one can't be read."""
    sources = {name: repo.open(name) for name in names}
    remote = [source for source in sources.values() if isinstance(source, RemoteFile)]
    with _pool(len(remote)) as pool:
        for i, _ in enumerate(pool.map(_preload, remote), 1):
            progress.step(f"{repo.repo_id}: reading headers {i}/{len(remote)}")
    return sources


@contextmanager
def _pool(n_files: int) -> Iterator[ThreadPoolExecutor]:
    """Threads; what has not begun when one fails never does."""
    pool = ThreadPoolExecutor(max(1, min(n_files, MAX_THREADS)), thread_name_prefix="kvplan-hub")
    try:
        yield pool
    finally:
        pool.shutdown(cancel_futures=True)


def _preload(source: RemoteFile) -> None:
    """A whole safetensors header (eight bytes say its length), the beginning of a GGUF's."""
    if source.name.lower().endswith(".gguf"):
        source.preload(_GGUF_FIRST_BYTES)
        return
    length = int.from_bytes(source.read(0, FIRST_READ_BYTES)[:8], "little")
    if 8 + length <= MAX_PRELOADED_BYTES:
        source.preload(8 + length)
