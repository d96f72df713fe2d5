"""Predicted resident memory of llama-server after loading, beside what it had: a table in Markdown.

usage: python tests/bench/llamacpp_rss.py SHARED   (a folder with oracles/llamacpp.jsonl.gz and gguf/models.json.gz)
"""

import gzip
import importlib
import json
import shlex
import sys
import tempfile
from pathlib import Path
from typing import Any

from kvplan.core.units import MIB
from kvplan.estimator import Estimate, Options, answer

BAR = 0.05
NOT_TOUCHED = ("compute_buffer", "prompt_cache")  # reserved at start, resident once they are used


def predicted(found: Estimate) -> int:
    """What is resident once the model is loaded and before the first request."""
    return sum(entry.size.best for entry in found.entries if entry.place == "host" and entry.term not in NOT_TOUCHED)


def model_file(shared: Path, folder: Path, record: dict[str, Any]) -> Path:
    """The file of a record's model, real sizes and no data."""
    sys.path.insert(0, str(shared / "gguf"))
    make = importlib.import_module("make")
    tables = json.loads(gzip.decompress((shared / "gguf/models.json.gz").read_bytes()))
    table, mix, path = tables[record["model"]], record["weights"], folder / f"{record['model']}-{record['weights']}.gguf"
    kept = [(name, shape, kind if mix == "q4_K" or kind == "f32" else mix) for name, shape, kind in table["tensors"]]
    make.mk_full(str(path), table["kv"], kept)
    return path


def main() -> int:
    shared, worst = Path(sys.argv[1]), 0.0
    lines = gzip.decompress((shared / "oracles/llamacpp.jsonl.gz").read_bytes()).decode().splitlines()
    sys.stdout.write("| model | file | arguments | predicted MiB | VmRSS MiB | error |\n|---|---|---|---|---|---|\n")
    with tempfile.TemporaryDirectory() as name:
        for record in (json.loads(line) for line in lines):
            if record["how"] != "real" or not record["ok"]:
                continue
            path = model_file(shared, Path(name), record)
            command = ("llama-server", "-m", str(path), *shlex.split(record["args"]), "--fit", "off", "-dev", "none")
            found = predicted(answer(Options(command=command, engine=f"llama.cpp@{record['llama_cpp']}", host="x86-avx512")))
            was = record["rss_loaded"]["VmRSS"]
            error = (found - was) / was
            worst = max(worst, abs(error))
            row = (record["model"], record["weights"], record["args"], f"{found / MIB:.0f}", f"{was / MIB:.0f}", f"{100 * error:+.1f} %")
            sys.stdout.write(f"| {' | '.join(row)} |\n")
    sys.stdout.write(f"\nworst {100 * worst:.1f} % (bar {100 * BAR:.0f} %)\n")
    return int(worst > BAR)


if __name__ == "__main__":
    sys.exit(main())
