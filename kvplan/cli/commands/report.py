"""``kvplan report``."""

from collections.abc import Mapping
from pathlib import PurePath
from typing import TYPE_CHECKING

from kvplan.cli import options, streams
from kvplan.cli.command import Command, Option, Said
from kvplan.cli.pasted import pasted
from kvplan.core.errors import EXIT_OK, RequestError
from kvplan.estimator import Options

if TYPE_CHECKING:
    from kvplan.reporter import Report

_FORMATS = ("html", "md", "json")


def run(said: Said) -> int:
    """The report in the format that was asked for, or that the name of the file says."""
    form = _format(said)
    streams.write(_rendered(_report(said), form), said)
    return EXIT_OK


def _format(said: Said) -> str:
    asked, suffix = said.values.get("format"), PurePath(said.values.get("o", "")).suffix.removeprefix(".").lower()
    if "json" in said.flags and asked not in (None, "json"):
        raise RequestError("contradiction", f"--json and --format {asked} are two forms of one report", hint="give one of them")
    return "json" if "json" in said.flags else asked or (suffix if suffix in _FORMATS else "html")


def _report(said: Said) -> "Report":
    from kvplan.comparer import sides
    from kvplan.reporter import report
    from kvplan.reporter.results import read

    found = {word: read(word) for word in said.words}
    models = [word for word, result in found.items() if result is None]
    after = pasted(said)
    known = {name: value for name, value in said.values.items() if name in Options._fields}
    if found and known and not models and not after:
        stray = next(option.flag for option in COMMAND.options if option.name in known)
        raise RequestError("contradiction", f"{stray} changes nothing in answers that are given", hint="leave it out, or name a MODEL")
    asked = sides(Options(command=(), **known), models, after) if models or after else ()
    made = report(asked, tuple(result for result in found.values() if result is not None), probe=True)
    return made._replace(command=_again(said, after, {one.found.engine: one.found.version for one in made.subjects}))


def _again(said: Said, after: tuple[str, ...], versions: Mapping[str, str]) -> tuple[str, ...]:
    """The command line that makes the report again, also when there are newer engines."""
    engines = said.values.get("engine", next(iter(versions)) if len(versions) == 1 else "")
    pinned = ",".join(f"{name}@{versions[name]}" if name in versions else name for name in engines.split(","))
    values = {**said.values, **({"engine": pinned} if pinned else {})}
    taking = {option.name: option.flag for option in COMMAND.options if option.name not in ("command_file", "color")}
    words = [word for name, flag in taking.items() if name in values for word in (flag, values[name])]
    return ("kvplan", "report", *said.words, *(["--json"] if "json" in said.flags else []), *words, *(("--", *after) if after else ()))


def _rendered(found: "Report", form: str) -> str:
    from kvplan.render.envelope import dumps
    from kvplan.render.report_json import as_json

    document = as_json(found)
    if form == "json":
        return dumps(document) + "\n"
    if form == "md":
        from kvplan.render import report_markdown

        return report_markdown.text(document)
    from kvplan.render import html

    return html.page(document)


COMMAND = Command(
    name="report",
    help="A sizing report in one file: what fits, on what, how long, how many at once, and where each byte goes.\n\n"
    "MODEL as for estimate, several of them or lists with commas in the options stand side by side, as do commands with -- between "
    "them. RESULT.json is what estimate, sweep, recommend, compare, verify, check or quality answered with --json.",
    argument="[MODEL... | RESULT.json...] [-- ENGINE COMMAND]",
    options=(
        *options.WORKLOAD,
        *options.PRECISION,
        *options.ENGINE,
        options.COMMAND_FILE,
        *options.HARDWARE,
        Option("--format", "The form of the report; else what the file's name ends in, else html.", "Output", "FORM", choices=_FORMATS),
        *options.OUTPUT,
        options.DEBUG,
    ),
    examples=(
        "kvplan report llama-3.1-8b --engine vllm --gpu l4 --ctx 8k --batch 4 -o report.html",
        "kvplan report qwen3-8b --gpu l4,l40s,h100-sxm --engine vllm --ctx 32k -o report.html",
        "kvplan report estimate.json verify.json --format md",
        "kvplan report --gpu l4 -o report.html -- vllm serve qwen3-8b --max-model-len 8192",
    ),
    run=run,
    many=True,
)
