"""``kvplan completion``."""

from kvplan.cli import options, streams
from kvplan.cli.command import Command, Said
from kvplan.core.errors import EXIT_OK, RequestError, did_you_mean

_SHELLS = ("bash", "zsh", "fish")


def run(said: Said) -> int:
    """The script that click's own completion gives for a shell."""
    from click.shell_completion import get_completion_class

    from kvplan.cli.app import application

    shell = said.words[0] if said.words else ""
    found = get_completion_class(shell) if shell in _SHELLS else None
    if found is None:
        raise RequestError(
            "usage", f"expected one of {', '.join(_SHELLS)}, found '{shell}'", hint=did_you_mean(shell, _SHELLS) or "kvplan completion bash"
        )
    streams.write(found(application(), {}, "kvplan", "_KVPLAN_COMPLETE").source() + "\n", said)
    return EXIT_OK


COMMAND = Command(
    name="completion",
    help='The completion script of a shell.\n\nbash: put `eval "$(kvplan completion bash)"` into ~/.bashrc.',
    argument="bash|zsh|fish",
    options=(options.DEBUG,),
    examples=("kvplan completion bash",),
    run=run,
)
