"""``kvplan gpus``."""

from kvplan.cli import options, streams
from kvplan.cli.command import Command, Said
from kvplan.core.errors import EXIT_OK


def run(said: Said) -> int:
    """The catalogue of GPUs, filtered by words."""
    from kvplan.render import gpus

    streams.write(gpus.listing(" ".join(said.words), as_json="json" in said.flags), said)
    return EXIT_OK


COMMAND = Command(
    name="gpus",
    help="The GPUs that kvplan knows, with the memory that their driver and CUDA report.\n\nWORDS filter by id, name or vendor.",
    argument="[WORDS]",
    options=(*options.OUTPUT, options.DEBUG),
    examples=("kvplan gpus", "kvplan gpus h100", "kvplan gpus --json"),
    run=run,
    many=True,
)
