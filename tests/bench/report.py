"""Seconds of processor time that a report's page takes, for a sweep of 2,000 points: the bar is one.

usage: python -m tests.bench.report
"""

import json
import sys
import time

from kvplan.estimator.sweep import sweep
from kvplan.render import html
from kvplan.render import sweep as rendered
from kvplan.render.envelope import dumps

BAR_S, MOST_BYTES = 1.0, 2**20
CONTEXTS, BATCHES = 50, 40


def document() -> dict[str, object]:
    """A report on one sweep."""
    found = sweep(
        "llama-3.1-8b", engine="vllm", gpu="h100-sxm", ctx=[1024 * n for n in range(1, CONTEXTS + 1)], batch=range(1, BATCHES + 1)
    )
    answer = json.loads(dumps(rendered.as_json(found.axes, found.points)))
    result = {"file": "sweep.json", "kind": "sweep", "answer": answer}
    return {"kvplan": "0", "report": {"command": ["kvplan", "report", "sweep.json"], "inputs": []}, "subjects": [], "results": [result]}


def run() -> int:
    """Write the seconds of the first page and of the next, and the size; 1 beyond a bar."""
    made = document()
    taken = []
    for name in ("first page, templates compiled", "next page"):
        begin = time.process_time()
        page = html.page(made)
        taken.append(time.process_time() - begin)
        sys.stdout.write(f"{name}: {taken[-1]:.2f} s for {CONTEXTS * BATCHES:,} points\n")
    size = len(page.encode())
    sys.stdout.write(f"{size:,} bytes\n")
    return int(taken[0] > BAR_S or size >= MOST_BYTES)


if __name__ == "__main__":
    sys.exit(run())
