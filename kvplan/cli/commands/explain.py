"""``kvplan explain``."""

from kvplan.cli import options, streams
from kvplan.cli.command import Command, Said
from kvplan.core.errors import EXIT_OK, RequestError


def run(said: Said) -> int:
    """The manual page of a rule or term."""
    from kvplan.render import manual

    if not said.words:
        raise RequestError("usage", "no RULE or TERM was named", hint="kvplan explain KV322, or a term such as kv_cache; see kvplan rules")
    streams.write(manual.page(" ".join(said.words), as_json="json" in said.flags), said)
    return EXIT_OK


COMMAND = Command(
    name="explain",
    help="The manual page of a rule or term: what it says, why it matters, what to do.\n\n"
    "RULE is an id such as KV322, as findings and refusals carry it. TERM is a line of the ledger, such as kv_cache or activations, "
    "or a setting, such as max-model-len.",
    argument="[RULE or TERM]",
    options=(*options.OUTPUT, options.DEBUG),
    examples=("kvplan explain KV322", "kvplan explain kv_cache", "kvplan explain max-model-len --json"),
    run=run,
    many=True,
)
