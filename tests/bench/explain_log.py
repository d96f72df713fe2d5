"""How fast a long log is read, and in how much memory: ``python tests/bench/explain_log.py [MB]`` (default 100): a server's, and as the
worst case one whose every line has other words."""

import random
import resource
import string
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from kvplan.explainer.explanation import explain

_STATS = (
    "(APIServer pid=1) INFO 04-22 00:{:02}:{:02} [loggers.py:273] Engine 000: Avg prompt throughput: {}.3 tokens/s, Avg generation "
    "throughput: {}.1 tokens/s, Running: {} reqs, Waiting: 0 reqs, GPU KV cache usage: {}.1%, Prefix cache hit rate: 12.0%\n"
)
_REQUEST = '(APIServer pid=1) INFO:     10.0.{}.{}:{} - "POST /v1/chat/completions HTTP/1.1" 200 OK\n'
_PROMPT = (
    "(APIServer pid=1) INFO [logger.py:42] Received request chatcmpl-{:032x}: "
    "prompt: 'Tell me about number {}', params: SamplingParams(n=1)\n"
)


def written(path: Path, megabytes: int) -> int:
    """A server's log: a start, then requests and statistics."""
    n = 0
    with path.open("w", encoding="utf-8") as file:
        file.write(
            "INFO [core.py:105] Initializing a V1 LLM engine (v0.19.0) with config: model='meta-llama/Llama-3.1-8B-Instruct', dtype=auto\n"
        )
        file.write("INFO [kv_cache_utils.py:1319] GPU KV cache size: 476,016 tokens\nINFO:     Application startup complete.\n")
        while file.tell() < megabytes * 10**6:
            for _ in range(1000):
                n += 1
                file.write(_REQUEST.format(n % 256, n % 251, n % 60000))
                file.write(_PROMPT.format(n * 7919, n))
                if n % 10 == 0:
                    file.write(_STATS.format(n % 60, n % 59, n % 1000, n % 500, n % 64, n % 99))
    return path.stat().st_size


def prose(path: Path, megabytes: int) -> int:
    """Lines of twelve words, none of which is like another."""
    chosen = random.Random(1)
    words = ["".join(chosen.choices(string.ascii_letters, k=chosen.randint(2, 10))) for _ in range(20_000)]
    words += ["memory", "model", "size", "buffer", "GPU", "KV", "cache", "loading", "error", "prompt"] * 20
    with path.open("w", encoding="utf-8") as file:
        while file.tell() < megabytes * 10**6:
            for _ in range(1000):
                file.write(f"INFO {' '.join(chosen.choices(words, k=12))}\n")
    return path.stat().st_size


def main() -> None:
    megabytes = int(sys.argv[1]) if len(sys.argv) > 1 else 100
    for name, write, share in (("server", written, 1), ("prose", prose, 5)):
        _measured(name, write, megabytes // share)


def _measured(name: str, write: Callable[[Path, int], int], megabytes: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "server.log"
        size = write(log, megabytes)
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        begun = time.perf_counter()
        cpu = time.process_time()
        found = explain(str(log))
        took, spent = time.perf_counter() - begun, time.process_time() - cpu
        grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    sys.stdout.write(
        f"{name}: {size / 1e6:.0f} MB, {found.n_lines:,} lines: {took:.1f} s, {size / 1e6 / took:.0f} MB/s "
        f"({size / 1e6 / spent:.0f} MB/s of processor time), {grown / 1024:.0f} MiB more memory, {found.outcome}\n"
    )


if __name__ == "__main__":
    main()
