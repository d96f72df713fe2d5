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
            raise RequestError("usage", "--spec needs a MODEL", hint="kvplan models llama-2-7b --spec")
        streams.write(models.spec_text(name), said)
        return EXIT_OK
    streams.write(models.listing(name, as_json="json" in said.flags), said)
    return EXIT_OK


COMMAND = Command(
    name="models",
    help="The built-in models, or those that all WORDS stand in; with one MODEL, its layers and weights.\n\n"
    "MODEL is a built-in id or alias, an id or web address of the Hub, a config.json, a model directory, a GGUF file, "
    "a spec file, or - for a config on stdin.",
    argument="[MODEL or WORDS]",
    options=(
        Option("--spec", "Print the spec file of MODEL, which every command reads as MODEL.", "Output"),
        *options.OUTPUT,
        options.DEBUG,
    ),
    examples=("kvplan models", "kvplan models qwen3", "kvplan models gemma-3-27b --spec -o gemma.yaml"),
    run=run,
    many=True,
)
