"""Peaks by formula beside traces of older versions of Transformers, of prompts in chunks, and of runs without a cache.

usage: python -m tests.bench.older_versions > reports/transformers-versions.md

Reads tests/data/traces; estimates are made now.
"""

import json
import sys
from pathlib import Path

from kvplan.core.workload import Workload
from kvplan.engines.transformers.rules import RULES
from tests.engines.transformers.running import NEWEST, by_term, deployment, gpu, model

DATA = Path(__file__).parents[1] / "data" / "traces"
HEAD = """# Versions of Transformers beside traces of their own code

Written by `python -m tests.bench.older_versions`. Small models were run by each version's own modeling code on tensors without memory, as
on a GPU of compute capability 8.0. Differences are hundredths of the bytes beside the weights, the worst of all runs.
Left out: GPT-2 from 4.40 to 4.55, which held up to 35 % more than counted there (the interval is 40 % wide), and mixtures of experts before
5.0, whose loop over experts can't be traced without values.

| version | models | runs | prefill off, % | decode off, % |
|---|--:|--:|--:|--:|
"""


def off(config: dict[str, object], flags: dict[str, str], version: str, run: list[int]) -> tuple[float, float]:
    """How far the estimate is off in both phases, in hundredths."""
    batch, prompt, steps, prefill, decode = run
    deployed, load = deployment(model(config), flags, version=version, node=gpu()), Workload(prompt + steps, batch, prompt)
    phases, held = deployed.phases(load), by_term(deployed.entries(load))["weights"].size.best
    got = ((phases.prefill_peak_bytes or 0) - held, (phases.decode_peak_bytes or 0) - held)
    return 100 * (got[0] / prefill - 1), 100 * (got[1] / decode - 1)


def rows() -> dict[str, list[tuple[float, float]]]:
    """Differences by version; chunks and runs without a cache under names of their own."""
    found: dict[str, list[tuple[float, float]]] = {}
    for line in (DATA / "transformers-older.jsonl").read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        for attn, cache, *run in row["runs"]:
            flags = {"attn_implementation": attn, "cache_implementation": cache}
            found.setdefault(row["version"], []).append(off(row["config"], flags, row["version"], run))
    for line in (DATA / "transformers-5.24.0-chunks.jsonl").read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        for attn, cache, batch, prompt, steps, chunk, *peaks in row["runs"]:
            flags = {"attn_implementation": attn, "cache_implementation": cache, "prefill_chunk_size": str(chunk)}
            name = f"{NEWEST}, {'in chunks' if chunk else 'no cache'}"
            found.setdefault(name, []).append(off(row["config"], flags, NEWEST, [batch, prompt, steps, *peaks]))
    return found


def main() -> None:
    """Write the report to stdout."""
    lines = (DATA / "transformers-older.jsonl").read_text(encoding="utf-8").splitlines()
    models = [json.loads(line)["version"] for line in lines]
    sys.stdout.write(HEAD)
    for version, both in rows().items():
        n_models = models.count(version) or 5
        worst = [max((one[phase] for one in both), key=abs) for phase in (0, 1)]
        sys.stdout.write(f"| {version} | {n_models} | {len(both)} | {worst[0]:+.2f} | {worst[1]:+.2f} |\n")
    sys.stdout.write("\n## What is known to differ\n\n| since | source |\n|---|---|\n")
    for rules in RULES:
        sys.stdout.write(f"| {rules.since} | {rules.source} |\n")


if __name__ == "__main__":
    main()
