"""Requests per second of a replay, and its memory: ids of tokens with a shared prefix, ids that share nothing, text.

usage: python -m tests.bench.prefix [COUNT]
"""

import json
import random
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

BAR_S, BAR_BYTES = 40, 2**30  # of 100,000 requests of 2,000 ids
_TOKENS = 2000
_WORDS = ("where", "is", "my", "lamp", "the", "order", "bulb", "broken", "return", "we", "look", "into", "that", "now", "thank", "you")


def ids(count: int, n_shared: int) -> Iterator[str]:
    """Requests of 2,000 ids, of which the first few are one of eight prefixes."""
    made = random.Random(1)
    prefixes = [[made.randrange(128_000) for _ in range(n_shared)] for _ in range(8)]
    for i in range(count):
        yield json.dumps({"prompt_token_ids": [*prefixes[i % 8], *made.choices(range(128_000), k=_TOKENS - n_shared)]})


def chats(count: int) -> Iterator[str]:
    """Chats of 8,000 signs, each with its own time of day in the system text."""
    made = random.Random(1)
    rules = " ".join(made.choices(_WORDS, k=900))
    for i in range(count):
        system = f"It is 2026-03-02 {i // 60 % 24:02d}:{i % 60:02d}.\n{rules}"
        question = " ".join(made.choices(_WORDS, k=700))
        yield json.dumps({"messages": [{"role": "system", "content": system}, {"role": "user", "content": question}]})


def measure(name: str, lines: Iterator[str], count: int) -> None:
    """A log written, and replayed in a process of its own."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "requests.jsonl"
        with path.open("w") as file:
            file.writelines(f"{line}\n" for line in lines)
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        start = time.perf_counter()
        subprocess.run([sys.executable, "-m", "kvplan", "prefix", str(path), "-q", "-o", "/dev/null"], check=True)
        wall, after = time.perf_counter() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
        cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        size = path.stat().st_size / 1e6
        sys.stdout.write(
            f"{name:<28}{count:>9,} requests {wall:>7.1f} s ({cpu:.1f} s of the processor){count / wall:>10,.0f}/s"
            f"{size / wall:>8.0f} MB/s{after.ru_maxrss / 1024:>8.0f} MiB at most so far\n"
        )
        sys.stdout.flush()


def main() -> None:
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 100_000
    sys.stdout.write(f"bar: 100,000 requests of 2,000 ids in {BAR_S} s and {BAR_BYTES / 2**20:.0f} MiB\n")
    measure("text, 8,000 signs", chats(count // 10), count // 10)
    measure("ids, 1,500 shared", ids(count, 1500), count)
    measure("ids, none shared", ids(count, 0), count)


if __name__ == "__main__":
    main()
