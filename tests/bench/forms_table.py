"""The report of ``tests.bench.forms_vs_traces``: how far formulas are from traces, an architecture a line."""

import json
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from kvplan.estimator import Options, answer
from tests.bench.architectures import config_of

PREFILL, DECODE, BELOW = 0.01, 0.03, 0.01
"""Bars: of the bytes beside the weights in each phase; how much of the total an estimate may lack."""


class Run(NamedTuple):
    """One run of an architecture; ``attn`` is ``sdpa`` where the family's own choice is meant."""

    attn: str
    cache: str
    padded: bool
    ctx_tokens: int
    batch: int


class Row(NamedTuple):
    """Its trace: peaks beside what is loaded, and the weights, in bytes."""

    name: str
    run: Run
    prefill: int
    decode: int
    weights: int


class Off(NamedTuple):
    """How far one estimate is from its trace: both phases, of the bytes beside the weights, and the lower one, of the total."""

    run: Run
    prefill: float
    decode: float
    total: float

    @property
    def holds(self) -> bool:
        """Whether it is within the bars."""
        return abs(self.prefill) <= PREFILL and abs(self.decode) <= DECODE and self.total >= -BELOW


def table(rows: list[Row]) -> str:
    """The report."""
    names = list(dict.fromkeys(row.name for row in rows))
    found = {name: list(_offs(name, [row for row in rows if row.name == name])) for name in names}
    every = [off for offs in found.values() for off in offs]
    held = sum(off.holds for off in every)
    lines = [
        "# Formulas beside traces of Transformers",
        "",
        "Written by `python -m tests.bench.forms_vs_traces`. Each architecture in its published widths with its first layers alone, in",
        "bfloat16 as on a GPU of compute capability 8.0: contexts 33, 1,000, 4,096 and 32,768, batches 1, 3 and 8, the last two tokens",
        "decoded; at some of these points also a static cache, a batch with padding on the left, and eager attention. Percentages are",
        "of the bytes beside the weights, the largest of all runs; `below` is of the total, weights included, negative where an estimate",
        f"lacks bytes. {held} of {len(every)} runs of {len(names)} architectures are within {100 * PREFILL:g} % (prefill), "
        f"{100 * DECODE:g} % (decode) and {100 * BELOW:g} % below.",
        "",
        "| architecture | runs | prefill, % | decode, % | below, % | static | padded | eager | outside the bars |",
        "|---|--:|--:|--:|--:|---|---|---|---|",
    ]
    lines += [_line(name, offs) for name, offs in found.items()]
    return "\n".join(lines) + "\n"


def _offs(name: str, rows: list[Row]) -> Iterator[Off]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "config.json"
        path.write_text(json.dumps(config_of(name)), encoding="utf-8")
        for row in rows:
            yield _off(path, row)


def _off(config: Path, row: Row) -> Off:
    attn, cache, padded, ctx, batch = row.run
    words = {"attn_implementation": "auto" if attn == "sdpa" else attn, "cache_implementation": cache, "dtype": "bfloat16"}
    command = ("transformers", str(config), *(f"{key}={value}" for key, value in words.items()), f"padding={'left' if padded else 'none'}")
    found = answer(Options(command=command, ctx=str(ctx), batch=str(batch), prompt=str(ctx - 2), gpu="a100-80"))
    phases, weights = found.phases, sum(entry.size.best for entry in found.entries if entry.term == "weights")
    got = (phases.prefill_peak_bytes or 0, phases.decode_peak_bytes or 0)
    want = row.prefill, row.decode
    lacks = [peak - weights - traced for peak, traced in zip(got, want, strict=True)]
    total = min(lack / (row.weights + traced) for lack, traced in zip(lacks, want, strict=True))
    return Off(row.run, lacks[0] / want[0], lacks[1] / want[1], total)


def _line(name: str, offs: list[Off]) -> str:
    prefill, decode = (max((getattr(off, key) for off in offs), key=abs) for key in ("prefill", "decode"))
    below = min(0.0, min(off.total for off in offs))
    outside = "; ".join(_named(off) for off in offs if not off.holds)
    marks = (
        _mark([off for off in offs if off.run.cache == "static"]),
        _mark([off for off in offs if off.run.padded]),
        _mark([off for off in offs if off.run.attn == "eager"]),
    )
    cells = f"{100 * prefill:+.3f} | {100 * decode:+.3f} | {100 * below:.3f}"
    return f"| {name} | {len(offs)} | {cells} | {' | '.join(marks)} | {outside} |"


def _mark(offs: list[Off]) -> str:
    return "" if not offs else "yes" if all(off.holds for off in offs) else "no"


def _named(off: Off) -> str:
    attn, cache, padded, ctx, batch = off.run
    words = [cache, *(["padded"] if padded else []), *(["eager"] if attn == "eager" else [])]
    return f"{' '.join(words)} {ctx:,} × {batch}: {100 * off.prefill:+.1f}, {100 * off.decode:+.1f}"
