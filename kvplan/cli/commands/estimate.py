"""``kvplan estimate``."""

import sys

from kvplan.cli import options, streams
from kvplan.cli.command import Command, Option, Said
from kvplan.cli.pasted import pasted
from kvplan.core.errors import EXIT_NO, EXIT_OK, RequestError
from kvplan.estimator import Estimate, Options, answer


def run(said: Said) -> int:
    """One answer as text or JSON, the schema, or one answer a line for ``--requests``."""
    if "json_schema" in said.flags:
        from kvplan.render.schema import schema_text

        streams.write(schema_text(), said)
        return EXIT_OK
    if "requests" in said.values:
        from kvplan.cli.requests import answer_all

        return answer_all(said)
    found = answer(_options(said), probe=True)
    if "require_fit" in said.flags and not found.node.gpus:
        raise RequestError(
            "usage", "--require-fit needs a device, and none is named or attached", hint="add --gpu h100-sxm or --budget 24GiB"
        )
    streams.write(_rendered(found, said), said)
    streams.warn(found.findings, said)
    runs = found.verdict in ("fits", "tight") and not found.refusals
    return EXIT_NO if "require_fit" in said.flags and not runs else EXIT_OK


def _options(said: Said) -> Options:
    command = pasted(said)
    if not said.words and not command:
        raise RequestError("usage", "no MODEL was named", hint="kvplan estimate llama-2-7b; `kvplan models` shows all")
    known = {name: value for name, value in said.values.items() if name in Options._fields}
    return Options(model=said.words[0] if said.words else None, command=command, **known)


def _rendered(found: Estimate, said: Said) -> str:
    if "json" in said.flags:
        from kvplan.render import json_
        from kvplan.render.envelope import dumps

        return dumps(json_.estimate(found)) + "\n"
    from kvplan.render import text

    paint = streams.painter(sys.stdout, said.values.get("color", "never" if "o" in said.values else None))
    return text.estimate(found, explain="explain" in said.flags, paint=paint)


COMMAND = Command(
    name="estimate",
    help="What a model takes, where each byte goes, and whether it fits.\n\n"
    "MODEL is a built-in id or alias, an id or web address of the Hub, a config.json, a model directory, a GGUF file, "
    "a spec file, or - for a config on stdin.",
    argument="[MODEL] [-- ENGINE COMMAND]",
    options=(
        *options.WORKLOAD,
        *options.PRECISION,
        *options.ENGINE,
        options.COMMAND_FILE,
        *options.HARDWARE,
        Option("--calibration", "Take the overheads that `verify --save-calibration FILE` measured on this GPU.", "Hardware", "FILE"),
        *options.OUTPUT,
        Option("--explain", "Show each formula with its numbers and its source.", "Output"),
        Option("--require-fit", "Exit 1 when it does not fit, or the engine refuses it.", "Output"),
        Option("--requests", "Answer one request a line from a JSON-lines file; - is stdin.", "Output", "FILE"),
        Option("--json-schema", "Print the schema of the JSON answer.", "Output"),
        options.DEBUG,
    ),
    examples=(
        "kvplan estimate llama-2-7b --ctx 4096 --batch 8",
        "kvplan estimate qwen3-30b-a3b --ctx 32k --gpu h100-sxm --explain",
        "kvplan estimate ./my-model/config.json --budget 24GiB --json",
        "kvplan estimate --gpu l40s -- transformers llama-2-7b dtype=bfloat16",
        "kvplan estimate --gpu h100-sxm -- vllm serve qwen3-8b --max-model-len 32K --kv-cache-dtype fp8",
        "kvplan estimate --gpu rtx-4090 --dtype q4_k_m -- llama-server -m qwen3-8b -c 32768 -np 2",
    ),
    run=run,
)
