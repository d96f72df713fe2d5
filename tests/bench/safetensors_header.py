"""How long a large safetensors header takes: ``python -m tests.bench.safetensors_header``. Bar: four times its bare JSON."""

import json
import sys
import time
from collections.abc import Callable

from kvplan.specs.safetensors import read_header
from tests.specs.test_safetensors import many

N_TENSORS = 100_000


def main() -> None:
    """Print both times, and their ratio."""
    source = many(N_TENSORS)
    bare, whole = _took_s(lambda: json.loads(source.head[8:])), _took_s(lambda: read_header(source))
    sys.stdout.write(f"{N_TENSORS:,} tensors: {whole:.2f} s CPU, {whole / bare:.1f} times its JSON (bar 4)\n")


def _took_s(work: Callable[[], object]) -> float:
    started = time.process_time()
    work()
    return time.process_time() - started


if __name__ == "__main__":
    main()
