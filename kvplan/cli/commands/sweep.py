"""``kvplan sweep``."""

import os
import shutil
from collections.abc import Iterable, Iterator

from kvplan.cli import options, streams
from kvplan.cli.command import Command, Option, Said
from kvplan.core.errors import EXIT_OK, RequestError
from kvplan.estimator import Options
from kvplan.estimator.sweep import Axis, answered, axes, points
from kvplan.estimator.swept import Point

_UNBOUNDED = 10_000  # columns of a file


def run(said: Said) -> int:
    """A line for each point as it is made, or one JSON document, or CSV; or the schema."""
    if "json_schema" in said.flags:
        from kvplan.render.sweep_schema import schema_text

        streams.write(schema_text(), said)
        return EXIT_OK
    if {"json", "csv"} <= said.flags:
        raise RequestError("contradiction", "--json and --csv are two forms of one answer", hint="give one of them")
    if {"grid", "one_at_a_time"} <= said.flags:
        raise RequestError("contradiction", "--grid and --one-at-a-time choose points in two ways", hint="give one of them")
    varied = axes(_lists(said))
    if "measure" in said.flags:
        from kvplan.cli.measuring import run as measure

        return measure(varied, said)
    stray = next((option.flag for option in MEASURING if option.name in said.values), None)
    if stray is not None:
        raise RequestError("contradiction", f"{stray} bears on runs alone", hint="add --measure, or leave it out")
    found = answered(points(varied, one_at_a_time="one_at_a_time" in said.flags, probe=True))
    streams.write_each(_rendered(varied, found, said), said)
    return EXIT_OK


def _lists(said: Said) -> dict[str, tuple[str, ...]]:
    """The values of each option, parted by commas; a file's name may hold some."""
    if not said.words:
        raise RequestError("usage", "no MODEL was named", hint="kvplan sweep llama-2-7b --ctx 4k,8k --batch 1,8")
    model = said.words[0]
    asked = {name: value for name, value in said.values.items() if name in Options._fields}
    lists = {name: tuple(part.strip() for part in value.split(",")) for name, value in asked.items()}
    return {"model": (model,) if os.path.lexists(model) else tuple(model.split(",")), **lists}


def _rendered(varied: tuple[Axis, ...], found: Iterable[Point], said: Said) -> Iterator[str]:
    from kvplan.render import sweep

    if "json" in said.flags:
        from kvplan.render.envelope import dumps

        yield dumps(sweep.as_json(varied, found)) + "\n"
    elif "csv" in said.flags:
        yield from sweep.as_csv(varied, found)
    else:
        columns = _UNBOUNDED if "o" in said.values else shutil.get_terminal_size().columns
        yield from (line + "\n" for line in sweep.text(varied, found, columns=columns))


MEASURING = (
    Option(
        "--backend",
        "Run on the attached GPU (default if there is one), this processor, or nothing.",
        "Measure",
        "TIER",
        ("cuda", "cpu", "trace"),
    ),
    Option("--layers", "Build and estimate only the first N layers.", "Measure", "N"),
    Option("--warmup", "Passes before those that are timed.", "Measure", "N"),
    Option("--repeats", "Passes that are timed.", "Measure", "N"),
)


def _several(option: Option) -> Option:
    """The same option with any number of values, which are looked at point by point."""
    return option._replace(choices=(), metavar=f"{option.metavar},…", help=option.help)


COMMAND = Command(
    name="sweep",
    help="What many settings take: every choice of the values given, or one thing varied at a time.\n\n"
    "MODEL and every option of workload, precision, engine and hardware take several values, parted by commas. A choice that an "
    "engine refuses, or that has no answer, is a line that says why.",
    argument="[MODEL,…]",
    options=(
        Option("--grid", "Every choice of values; the default of estimates.", "Sweep"),
        Option("--one-at-a-time", "Vary one option at a time, the others at their first value; the default of --measure.", "Sweep"),
        Option("--measure", "Run each point, and show time, rate and memory; -o keeps finished runs, which are not run again.", "Measure"),
        *MEASURING,
        *map(_several, (*options.WORKLOAD, *options.PRECISION, *options.ENGINE, *options.HARDWARE)),
        *options.OUTPUT,
        Option("--csv", "Print comma-separated values, a line for each point.", "Output"),
        Option("--json-schema", "Print the schema of the JSON answer.", "Output"),
        options.DEBUG,
    ),
    examples=(
        "kvplan sweep llama-2-7b --ctx 4k,8k,16k --batch 1,8 --gpu a100-80",
        "kvplan sweep qwen3-8b --engine vllm@0.19,vllm@0.33,llama.cpp --gpu rtx-4090,l40s --csv",
        "kvplan sweep llama-3.2-1b --measure --ctx 1k,4k --batch 1,4 --prompt 512 -o results.jsonl",
        "kvplan sweep llama-3-70b --ctx 8k,32k --tp 2,4,8 --kv-dtype auto,fp8 --engine vllm --gpu h100-sxm:8 --one-at-a-time",
    ),
    run=run,
)
