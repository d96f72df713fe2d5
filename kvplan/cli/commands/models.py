"""``kvplan models``."""

from kvplan.cli import options, streams
from kvplan.cli.command import Command, Option, Said
from kvplan.core.errors import EXIT_OK, RequestError


def run(said: Said) -> int:
    """The catalogue filtered by words, one model's groups, or its spec file."""
    from kvplan.render import models

    name = " ".join(said.words)
    if "spec" in said.flags:
        if not name:
            raise RequestError("usage", "--spec needs the NAME of a model", hint="kvplan models llama-2-7b --spec")
        streams.write(models.spec_text(name), said)
        return EXIT_OK
    streams.write(models.listing(name, as_json="json" in said.flags), said)
    return EXIT_OK


COMMAND = Command(
    name="models",
    help="The built-in models, or those that all WORDS stand in; with one MODEL, its layers and weights.\n\n"
    "MODEL is an id, an alias, an id of the Hub, a config.json, a directory, a GGUF file or a spec file.",
    argument="[MODEL or WORDS]",
    options=(
        Option("--spec", "Print the spec file of NAME, which every command reads as MODEL.", "Output"),
        *options.OUTPUT,
        options.DEBUG,
    ),
    examples=("kvplan models", "kvplan models qwen3", "kvplan models gemma-3-27b --spec -o gemma.yaml"),
    run=run,
    many=True,
)
