"""``kvplan check``."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from kvplan.cli import options, streams
from kvplan.cli.command import Command, Option, Said
from kvplan.core.errors import EXIT_NO, EXIT_OK, RequestError, did_you_mean

if TYPE_CHECKING:
    from kvplan.checker.config import Config
    from kvplan.checker.report import Report

_FORMATS = "kvplan.render.formats"
_MOST_JOBS = 256
_LEVELS = ("error", "warning", "note", "never")


def run(said: Said) -> int:
    """The findings in every format that was asked for; exit 1 when one is at or above --fail-on."""
    from kvplan.checker import baseline, config

    if "json_schema" in said.flags:
        from kvplan.render.check_schema import schema_text

        streams.write(schema_text(), said)
        return EXIT_OK
    settings = _settings(config.find(Path(said.words[0] if said.words else ".")), said)
    wanted = list(_wanted(said))
    written = said.values.get("write_baseline")
    if written is not None:
        settings = settings.model_copy(update={"baseline": None})
    report = _checked(said, settings)
    if written is not None:
        streams.write_file(Path(written), baseline.text(report.found), force="force" in said.flags)
        return EXIT_OK
    for name, file in wanted:
        text = _rendered(name, report)
        if file is None:
            streams.say(text)
        else:
            streams.write_file(Path(file), text, force="force" in said.flags)
    streams.flush()
    worst = report.worst()
    fails = settings.fail_on != "never" and worst is not None and _LEVELS.index(worst) <= _LEVELS.index(settings.fail_on)
    return EXIT_NO if fails else EXIT_OK


def _checked(said: Said, settings: "Config") -> "Report":
    from kvplan.checker.check import check

    base, online, jobs = said.values.get("diff"), "online" in said.flags, _jobs(said)
    if base is None:
        return check(said.words, settings, online=online, jobs=jobs)
    if "write_baseline" in said.values:
        raise RequestError("usage", "--write-baseline writes all findings, --diff shows what is new", hint="leave one of them out")
    from kvplan.differ import check_diff

    return check_diff(base, said.words, lambda found: _settings(found, said), online=online, jobs=jobs)


def _jobs(said: Said) -> int:
    """Processes at most: as many as there are processors, unless it is said."""
    from kvplan.checker.processes import n_cpus

    text = said.values.get("jobs")
    if text is None:
        return n_cpus()
    if not text.isdecimal() or not 1 <= int(text) <= _MOST_JOBS:
        raise RequestError("usage", f"--jobs: expected a number from 1 to {_MOST_JOBS}, found '{text}'", hint="--jobs 1 starts no process")
    return int(text)


def _settings(found: "Config", said: Said) -> "Config":
    """The project's settings with what the line says in their place. Raises RequestError for a GPU or rule that there is none."""
    from kvplan.hardware import catalog

    here = Path.cwd()
    for key, ids in (("select", found.select), ("ignore", found.ignore), *found.per_file_ignores.items()):
        _rules(",".join(ids), f"{found.source}: {key}")
    changed: dict[str, object] = {name: said.values[name] for name in ("gpu", "fail_on") if name in said.values}
    changed |= {name: str(here / said.values[name]) for name in ("model_dir", "baseline") if name in said.values}
    changed |= {name: _rules(said.values[name], f"--{name}") for name in ("select", "ignore") if name in said.values}
    if "strict" in said.flags:
        changed["strict"] = True
    if "env_file" in said.lists:
        changed["env_file"] = [str(here / file) for file in said.lists["env_file"]]
    if "set" in said.lists:
        changed["set"] = {**found.set, **dict(map(_pair, said.lists["set"]))}
    gpu = said.values.get("gpu", "none")
    if gpu.lower() != "none":
        catalog.find(gpu.partition(":")[0])
    return found.model_copy(update=changed)


def _pair(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals or not name:
        raise RequestError("usage", f"--set: expected NAME=VALUE, found '{text}'", hint="--set VLLM_MODEL=Qwen/Qwen3-8B")
    return name, value


def _rules(text: str, option: str) -> list[str]:
    from kvplan.explainer import manual

    known = {page.id for page in manual.rules()}
    ids = [one.strip().upper() for one in text.split(",") if one.strip()]
    stray = next((one for one in ids if one not in known), None)
    if stray is not None:
        raise RequestError(
            "unknown_rule", f"{option}: unknown rule '{stray}'", hint=did_you_mean(stray, known) or "`kvplan rules` shows all"
        )
    return ids


def _wanted(said: Said) -> Iterator[tuple[str, str | None]]:
    """Formats with the files that they go to, stdout for None. Raises RequestError for unknown ones, or two on stdout."""
    formats = said.lists.get("format", ())
    asked = tuple(dict.fromkeys((*formats, "json"))) if "json" in said.flags else formats or ("text",)
    names = _names()
    on_stdout = [one for one in asked if "=" not in one]
    if len(on_stdout) > 1:
        raise RequestError("usage", f"--format: {' and '.join(on_stdout)} would both go to stdout", hint=f"--format {on_stdout[1]}=FILE")
    for one in asked:
        name, equals, file = one.partition("=")
        if name not in names or (equals and not file):
            raise RequestError("usage", f"--format: unknown format '{one}'", hint=did_you_mean(name, names) or f"known: {', '.join(names)}")
        yield name, file if equals else None
    if os.environ.get("GITHUB_ACTIONS") == "true" and on_stdout == ["text"]:
        yield "github", None


def _names() -> list[str]:
    from kvplan import _discover

    return sorted(module.NAME for module in _discover.modules(_FORMATS).values())


def _rendered(name: str, report: "Report") -> str:
    from kvplan import _discover

    module = next(module for module in _discover.modules(_FORMATS).values() if name == module.NAME)
    text: str = module.render(report)
    return text


COMMAND = Command(
    name="check",
    help="Find the LLM servers that deployment files start, and whether each starts and holds its load.\n\n"
    "Reads scripts, Dockerfiles, Compose, Kubernetes and more under each PATH (default: here; - is stdin) as data: nothing is run or "
    "rendered. Settings stand in .kvplan.yaml or [tool.kvplan] of pyproject.toml, nearest up the tree.",
    argument="[PATH…]",
    options=(
        Option("--gpu", "The GPU of servers whose file names none; none leaves them unknown.", "What is known", "ID"),
        Option("--model-dir", "Vendored models: DIR/org/name/config.json, DIR/name.json, spec files.", "What is known", "DIR"),
        Option("--set", "A variable's value; may stand several times.", "What is known", "NAME=VALUE", many=True),
        Option("--env-file", "Variables' values, NAME=VALUE a line.", "What is known", "FILE", many=True),
        Option("--online", "Ask the Hub about models that are not known here.", "What is known"),
        Option("--fail-on", "Exit 1 at findings of this level or above; default error.", "Findings", "LEVEL", choices=_LEVELS),
        Option("--select", "Only these rules, by their ids.", "Findings", "IDS"),
        Option("--ignore", "All but these rules.", "Findings", "IDS"),
        Option("--strict", "What is unknown is an error: variables, models, GPUs, unreadable documents.", "Findings"),
        Option(
            "--diff",
            "Only what is worse than at BASE: a git revision (main; main... is where HEAD left it), or a folder.",
            "Findings",
            "BASE",
        ),
        Option("--baseline", "Leave out the findings that FILE holds.", "Findings", "FILE"),
        Option("--write-baseline", "Write the findings to FILE, and exit 0.", "Findings", "FILE"),
        Option("--format", "text, json, github, gitlab, junit, sarif or markdown; with =FILE into it.", "Output", "NAME[=FILE]", many=True),
        options.JSON,
        Option("--json-schema", "Print the JSON schema of --json.", "Output"),
        Option("--force", "Let --format and --write-baseline overwrite files that kvplan did not make.", "Output"),
        Option("--jobs", "Processes that share the files, where that pays; default: one a processor.", "Output", "N"),
        options.DEBUG,
    ),
    examples=(
        "kvplan check",
        "kvplan check deploy/ --gpu l40s --format text --format sarif=kvplan.sarif",
        "kvplan check --diff origin/main... --format markdown",
    ),
    run=run,
    many=True,
)
