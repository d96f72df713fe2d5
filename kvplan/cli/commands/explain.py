"""``kvplan explain``."""

import sys

from kvplan.cli import options, streams
from kvplan.cli.command import Command, Option, Said
from kvplan.cli.pasted import pasted
from kvplan.core.errors import EXIT_OK, RequestError


def run(said: Said) -> int:
    """What a log says, or a server's metrics, or the manual page of a rule or term."""
    from kvplan.explainer import manual

    if "url" in said.values:
        if said.words:
            raise RequestError("contradiction", f"--url and {said.words[0]} are two things to explain", hint="give one of them")
        streams.write(_server(said), said)
        return EXIT_OK
    if said.after or "command_file" in said.values:
        raise RequestError("usage", "an engine's command goes with --url: a log names its own", hint="kvplan explain --url URL -- COMMAND")
    if not said.words:
        raise RequestError("usage", "no LOG, RULE or TERM was named", hint="kvplan explain server.log, kvplan explain KV322; - is stdin")
    words = " ".join(said.words)
    if manual.may_be_a_log(words):
        streams.write(_log(words, said), said)
        return EXIT_OK
    from kvplan.render import manual as pages

    streams.write(pages.page(words, as_json="json" in said.flags), said)
    return EXIT_OK


def _server(said: Said) -> str:
    from kvplan.explainer.metrics import fetched
    from kvplan.explainer.predicted import Served
    from kvplan.render import metrics

    values = said.values
    served = Served(values.get("model"), values.get("gpu"), pasted(said), values.get("ctx"), values.get("batch"))
    found = fetched(values["url"], served)
    return metrics.as_json(found) if "json" in said.flags else metrics.text(found)


def _log(name: str, said: Said) -> str:
    from kvplan.explainer.explanation import explain
    from kvplan.render import explanation

    found = explain(name, **{key: said.values[key] for key in ("model", "gpu", "ctx", "batch") if key in said.values})
    if "json" in said.flags or said.values.get("format") == "json":
        return explanation.as_json(found)
    if said.values.get("format") == "md":
        return explanation.markdown(found)
    paint = streams.painter(sys.stdout, said.values.get("color", "never" if "o" in said.values else None))
    return explanation.text(found, paint=paint)


COMMAND = Command(
    name="explain",
    help="What an engine's log says: where the memory went, why it failed, what to change. Or the manual page of a rule or term.\n\n"
    "LOG is a file, or - for stdin: vLLM, llama.cpp, Ollama, Transformers, SGLang, TGI or TensorRT-LLM, with whatever docker or Kubernetes "
    "put in front. RULE is an id such as KV322, as findings and refusals carry it. TERM is a line of the ledger, such as kv_cache or "
    "activations, or a setting, such as max-model-len.",
    argument="[LOG, RULE or TERM] [-- ENGINE COMMAND]",
    options=(
        Option("--model", "The model, where the log does not name one that is built in.", "Log", "MODEL"),
        Option("--gpu", "The GPU, where the log does not name it.", "Log", "ID"),
        Option("--ctx", "Tokens of prompt and answer, of a run of Transformers or with --url.", "Log", "N"),
        Option("--batch", "Sequences at once, of a run of Transformers or with --url; of a server, those that run.", "Log", "N"),
        Option(
            "--url",
            "Read a running server's metrics: http://host:8000/metrics; with the command that started it, the estimate of it beside.",
            "Log",
            "URL",
        ),
        options.COMMAND_FILE,
        Option(
            "--format",
            "How to print a log's explanation; md is for pasting into an issue.",
            "Output",
            "KIND",
            choices=("text", "json", "md"),
        ),
        *options.OUTPUT,
        options.DEBUG,
    ),
    examples=(
        "kvplan explain server.log",
        "kvplan explain - --format md < server.log",
        "kvplan explain KV322",
        "kvplan explain kv_cache",
        "kvplan explain max-model-len --json",
    ),
    run=run,
    many=True,
)
