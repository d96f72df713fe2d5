"""``kvplan prefix``."""

import sys
from typing import TYPE_CHECKING

from kvplan.cli import options, progress, streams
from kvplan.cli.command import Command, Option, Said
from kvplan.cli.pasted import pasted
from kvplan.core.errors import EXIT_OK, RequestError
from kvplan.estimator import Options

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from kvplan.prefixes import Prefix
    from kvplan.prefixes.request import Request

_TOLD_EVERY = 2000


def run(said: Said) -> int:
    """A log, or a made-up chat, through a cache of prefixes."""
    if "json_schema" in said.flags:
        from kvplan.render.prefix_schema import schema_text

        streams.write(schema_text(), said)
        return EXIT_OK
    found = _found(said)
    if "json" in said.flags:
        from kvplan.render.envelope import dumps
        from kvplan.render.prefix_json import as_json

        streams.write(dumps(as_json(found)) + "\n", said)
        return EXIT_OK
    from kvplan.render import prefix

    paint = streams.painter(sys.stdout, said.values.get("color", "never" if "o" in said.values else None))
    streams.write(prefix.text(found, explain="explain" in said.flags, paint=paint), said)
    streams.warn(found.findings, said)
    return EXIT_OK


def _found(said: Said) -> "Prefix":
    from kvplan.prefixes import of_chat, of_log
    from kvplan.prefixes.asking import asked

    chat = said.values.get("chat")
    if not said.words and chat is None:
        raise RequestError("usage", "no REQUESTS were named", hint="kvplan prefix requests.jsonl; or --chat turns=20,user=200,answer=300")
    if said.words and chat is not None:
        raise RequestError("contradiction", "--chat makes the requests up, and a file of them is named", hint="give one of them")
    known = {name: value for name, value in said.values.items() if name in Options._fields}
    own = {name: said.values.get(name) for name in ("block", "pool_tokens", "slots", "tokenizer", "rendering")}
    question = asked(Options(command=pasted(said), **known), {**own, "skip_bad": "skip_bad" in said.flags})  # type: ignore[typeddict-item]  # None is as good as not said
    return of_chat(chat, question, probe=True) if chat is not None else of_log(said.words[0], question, probe=True, watched=_watched)


def _watched(requests: "Iterable[Request]") -> "Iterator[Request]":
    """The same requests; on a terminal, how many there were so far."""
    for n, request in enumerate(requests):
        if n and n % _TOLD_EVERY == 0:
            progress.step(f"{n:,} requests replayed")
        yield request
    progress.clear()


COMMAND = Command(
    name="prefix",
    help="What prefix caching saves on these requests, and what breaks it.\n\n"
    "REQUESTS is a file with a request a line: a chat body (messages, tools), a completion body (prompt), a text, or ids of tokens; - is "
    "stdin; of a .txt file each line is a prompt. Optional beside them: session or user, time, answer (or response), output_tokens.",
    argument="[REQUESTS] [-- ENGINE COMMAND]",
    options=(
        Option(
            "--chat",
            "Made-up chats: turns=20,user=200 in tokens; also answer, system, private, keep, sessions, edit=5@3.",
            "Requests",
            "SPEC",
        ),
        Option("--tokenizer", "A tokenizer.json, or a directory with one; without it 4 bytes of text are a token.", "Requests", "FILE"),
        Option("--rendering", "Chats by the tokenizer's own template, or plainly.", "Requests", "KIND", choices=("template", "plain")),
        Option("--skip-bad", "Leave out lines that hold no request, and say how many.", "Requests"),
        Option("--block", "Tokens in a block; default the engine's.", "Cache", "N"),
        Option("--pool-tokens", "Tokens that the pool holds; default what --model leaves on --gpu, else without end.", "Cache", "N"),
        Option("--slots", "llama.cpp: slots, each of which keeps its last prompt.", "Cache", "N"),
        Option("--model", "The model, as for estimate: what its pool holds, what reuse saves in time.", "Cache", "MODEL"),
        *options.WORKLOAD[:2],
        *options.PRECISION,
        *options.ENGINE,
        options.COMMAND_FILE,
        *options.HARDWARE,
        *options.OUTPUT,
        Option("--explain", "Show the rules by which it is counted.", "Output"),
        Option("--json-schema", "Print the schema of the JSON answer.", "Output"),
        options.DEBUG,
    ),
    examples=(
        "kvplan prefix requests.jsonl --model llama-3.1-8b --gpu l4",
        "kvplan prefix requests.jsonl --tokenizer ./my-model --pool-tokens 200k --json",
        "kvplan prefix requests.jsonl --gpu h100-sxm -- vllm serve qwen3-8b --max-model-len 32768",
        "kvplan prefix --chat turns=20,user=200,answer=300,system=1000,edit=5@3,sessions=8 --model llama-3.1-8b --gpu l4",
    ),
    run=run,
)
