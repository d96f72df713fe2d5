"""``kvplan mcp``."""

from importlib.util import find_spec

from kvplan.cli import options
from kvplan.cli.command import Command, Said
from kvplan.core.errors import EXIT_OK, UnavailableError


def run(said: Said) -> int:
    """Serve until the client hangs up. Raises UnavailableError where the protocol's package is missing."""
    if find_spec("mcp") is None:
        raise UnavailableError("no_mcp", "kvplan mcp needs the package mcp", hint="pip install 'kvplan[mcp]'")
    from kvplan.mcp_server.server import serve

    serve()
    return EXIT_OK


COMMAND = Command(
    name="mcp",
    help="Serve estimate, recommend, check, explain and models to coding agents: the Model Context Protocol on stdin and stdout.\n\n"
    "For an agent's configuration: the command is kvplan, its one argument mcp. Needs the extra kvplan[mcp].",
    argument=None,
    options=(options.DEBUG,),
    examples=("kvplan mcp",),
    run=run,
)
