"""``kvplan engines``."""

from kvplan.cli import options, streams
from kvplan.cli.command import Command, Said
from kvplan.core.errors import EXIT_OK


def run(said: Said) -> int:
    """The catalogue of engines."""
    from kvplan.render import engines

    streams.write(engines.listing(as_json="json" in said.flags), said)
    return EXIT_OK


COMMAND = Command(
    name="engines",
    help="The inference engines that kvplan models, with the versions whose rules it knows.",
    argument=None,
    options=(*options.OUTPUT, options.DEBUG),
    examples=("kvplan engines", "kvplan engines --json"),
    run=run,
)
