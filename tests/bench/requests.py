"""Answers per second of the processor's time of ``estimate --requests`` on repeated models, and the memory that a cold estimate takes.

usage: python tests/bench/requests.py [COUNT]
"""

import json
import resource
import subprocess
import sys
from pathlib import Path

KVPLAN = str(Path(sys.executable).with_name("kvplan"))

ONE = (
    "import subprocess, sys, resource; subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL);"
    " print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)"
)


def lines(count: int) -> str:
    """Requests over one model: contexts, batches and hardware vary."""
    hardware: tuple[dict[str, str], ...] = ({}, {"gpu": "h100-sxm"}, {"budget": "24GiB"})
    asked = ({"id": i, "model": "llama-2-7b", "ctx": 512 + i % 3000, "batch": 1 + i % 8, **hardware[i % 3]} for i in range(count))
    return "".join(json.dumps(request) + "\n" for request in asked)


def main() -> None:
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 3000
    done = subprocess.run([KVPLAN, "estimate", "--requests", "-"], input=lines(count), text=True, capture_output=True, check=True)
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    took = used.ru_utime + used.ru_stime
    failed = sum("error" in json.loads(line) for line in done.stdout.splitlines())
    sys.stdout.write(f"{count / took:.0f} answers/s, start included, {failed} errors (bar 1000)\n")
    sys.stdout.write(f"{used.ru_maxrss / 1024:.0f} MiB peak RSS of {count} requests\n")
    out = subprocess.run(
        [sys.executable, "-c", ONE, KVPLAN, "estimate", "llama-2-7b", "--json"], capture_output=True, text=True, check=True
    )
    sys.stdout.write(f"{int(out.stdout) / 1024:.0f} MiB peak RSS of one built-in estimate (bar 60)\n")


if __name__ == "__main__":
    main()
