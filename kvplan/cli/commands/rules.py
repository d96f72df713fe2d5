"""``kvplan rules``."""

from kvplan.cli import options, streams
from kvplan.cli.command import Command, Said
from kvplan.core.errors import EXIT_OK


def run(said: Said) -> int:
    """The catalogue of rules, filtered by words."""
    from kvplan.render import manual

    streams.write(manual.rules(" ".join(said.words), as_json="json" in said.flags), said)
    return EXIT_OK


COMMAND = Command(
    name="rules",
    help="The rules by which kvplan notes, warns and foretells refusals.\n\n"
    "WORDS filter by id, level or summary; `kvplan explain KV322` is the page of one.",
    argument="[WORDS]",
    options=(*options.OUTPUT, options.DEBUG),
    examples=("kvplan rules", "kvplan rules refusal cache", "kvplan rules --json"),
    run=run,
    many=True,
)
