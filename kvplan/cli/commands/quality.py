"""``kvplan quality``."""

from contextlib import ExitStack, closing
from pathlib import Path
from typing import TYPE_CHECKING

from kvplan.cli import options, progress, streams
from kvplan.cli.command import Command, Option, Said
from kvplan.core.errors import EXIT_OK, RequestError
from kvplan.core.units import parse_count

if TYPE_CHECKING:
    from kvplan.verifier.fidelity.study import Plan


def run(said: Said) -> int:
    """What each cache saves and costs; or the schema."""
    if "json_schema" in said.flags:
        from kvplan.render.quality_schema import schema_text

        streams.write(schema_text(), said)
        return EXIT_OK
    from kvplan.render import quality
    from kvplan.render.envelope import dumps
    from kvplan.verifier.fidelity.study import Watcher, study
    from kvplan.verifier.journal import Journal

    plan = _plan(said)
    with ExitStack() as stack:
        kept = said.values.get("resume")
        journal = None if kept is None else stack.enter_context(closing(Journal(Path(kept))))
        begun = (lambda *_: None) if "q" in said.flags else _begun
        found = study(plan, journal, Watcher(begun, progress.bar))
    streams.write(dumps(quality.as_json(found)) + "\n" if "json" in said.flags else quality.text(found), said)
    streams.warn(found.findings, said)
    return EXIT_OK


def _begun(n: int, n_before: int) -> None:
    progress.notice(f"{n} samples, {n_before} of them run before")


def _plan(said: Said) -> "Plan":
    from kvplan.verifier.fidelity.study import N_NEW, Plan

    if not said.words:
        raise RequestError("usage", "no MODEL was named", hint="kvplan quality path/to/model --kv-dtype int8,int4")
    values = said.values
    return Plan(
        said.words[0],
        values.get("kv_dtype"),
        values.get("samples"),
        parse_count(values["new"], option="--new") if "new" in values else N_NEW,
        parse_count(values["ctx"], option="--ctx") if "ctx" in values else None,
        values.get("backend"),
        values.get("dtype"),
    )


COMMAND = Command(
    name="quality",
    help="What a quantized cache costs in quality: MODEL run with its full cache and with others, on known answers and plain text.\n\n"
    "MODEL is an id of the Hub, a checkpoint's folder or a GGUF file. Caches are int8, int4, int2, fp8_e4m3, fp8_e5m2, q8_0, q4_0, "
    "bf16, fp16, with options as in int4:k=channel, int4:group=32, int4:residual=128, int4:rope=before or high, q4_0:rotate=off, "
    "keys and values apart as q8_0/f16; and Transformers' own quanto-int4, quanto-int2, hqq-int8, hqq-int4, hqq-int2, "
    "transformers-fp8. Needs torch and transformers: pip install 'kvplan[verify]'.",
    argument="[MODEL]",
    options=(
        Option("--kv-dtype", "Caches to try, parted by commas.", "Run", "TYPE,…"),
        Option("--samples", "Prompts with known answers, one JSON object a line; else those that kvplan ships.", "Run", "FILE"),
        Option("--new", "Tokens to write after each prompt. Default 128.", "Run", "N"),
        Option("--resume", "Keep finished samples in FILE; those that it holds are not run again.", "Run", "FILE"),
        Option(
            "--backend",
            "Where to run: the attached GPU (default if there is one) or this processor.",
            "Run",
            "TIER",
            choices=("cuda", "cpu"),
        ),
        Option("--dtype", "Type to compute in: float32 on a processor, the stored one on a GPU.", "Run", "TYPE"),
        Option("--ctx", "Tokens for which bytes are given. Default 4096, or the model's limit.", "Workload", "N"),
        *options.OUTPUT,
        Option("--json-schema", "Print the schema of the JSON answer.", "Output"),
        options.DEBUG,
    ),
    examples=(
        "kvplan quality path/to/model --kv-dtype int8,int4,fp8",
        "kvplan quality SmolLM2-135M-Instruct.Q4_1.gguf --kv-dtype int4,int4:k=channel,q8_0/q4_0 --samples mine.jsonl --resume runs.jsonl",
    ),
    run=run,
)
