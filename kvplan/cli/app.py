"""The click application, made from the same commands as data: help, completion, complaints with near matches."""

from collections.abc import Callable, Iterable, Sequence

import click

from kvplan.cli import catalog, offers, streams
from kvplan.cli.command import Command, Option, Said
from kvplan.cli.version import about

_ARGUMENTS = {"[MODEL": offers.models, "[RULE": offers.pages}


class _Grouped(click.Command):
    """Help with options under headings, and examples below."""

    def __init__(self, command: Command) -> None:
        self.spec = command
        params: list[click.Parameter] = [_option(option) for option in command.options]
        if command.argument:
            nargs = -1 if command.many else 1
            offered = next((_offer(words) for begun, words in _ARGUMENTS.items() if command.argument.startswith(begun)), None)
            params.append(click.Argument(["words"], nargs=nargs, required=False, metavar=command.argument, shell_complete=offered))
        super().__init__(command.name, params=params, help=command.help, short_help=command.help.split("\n")[0].rstrip("."))

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        for group in dict.fromkeys(option.group for option in self.spec.options):
            rows = [(_left(option), option.help) for option in self.spec.options if option.group == group]
            with formatter.section(group):
                formatter.write_dl(rows)

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Examples"):
            for example in self.spec.examples:
                formatter.write_text(example)


class _Commands(click.Group):
    """Imports a command's file when it is asked for."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return catalog.names()

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        return _Grouped(catalog.command(cmd_name)) if cmd_name in catalog.names() else None

    def resolve_command(self, ctx: click.Context, args: list[str]) -> tuple[str | None, click.Command | None, list[str]]:
        if args[0] not in catalog.names() and not args[0].startswith("-"):
            from kvplan.core.errors import RequestError, did_you_mean

            known = ", ".join(catalog.names())
            raise RequestError("usage", f"unknown command '{args[0]}'", hint=did_you_mean(args[0], catalog.names()) or f"commands: {known}")
        return super().resolve_command(ctx, args)


def application() -> click.Group:
    """The click group that holds every command."""
    version = click.Option(
        ["--version"], is_flag=True, is_eager=True, expose_value=False, callback=_version, help="Versions of kvplan and of what it sees."
    )
    return _Commands(
        "kvplan",
        params=[version],
        context_settings={"help_option_names": ["-h", "--help"]},
        no_args_is_help=True,
        invoke_without_command=False,
        help="Where an LLM's memory goes, before you rent the GPU.",
    )


def said(argv: Sequence[str]) -> tuple[Command, Said] | None:
    """The command and what was said to it.

    Raises click's exceptions: for lines that are wrong, and Exit once click has answered by itself (help, version).
    """
    end = argv.index("--") if "--" in argv else len(argv)
    root = application()
    with root.make_context("kvplan", list(argv[:end])) as ctx:
        name, command, rest = root.resolve_command(ctx, [*ctx._protected_args, *ctx.args])
        assert isinstance(command, _Grouped)
        with command.make_context(name, list(rest), parent=ctx) as inner:
            return command.spec, _as_said(command.spec, inner.params, argv[end + 1 :])


def complete() -> None:
    """Answer the shell's question in the environment variable _KVPLAN_COMPLETE, and exit."""
    application().main(prog_name="kvplan")


def _as_said(command: Command, params: dict[str, object], after: Sequence[str]) -> Said:
    by_name = {option.name: option for option in command.options}
    given = {name: value for name, value in params.items() if name in by_name and value not in (None, False)}
    swallowed = next((name for name, value in given.items() if any(value == option.flag for option in command.options)), None)
    if swallowed is not None:
        raise click.BadOptionUsage(swallowed, f"Option '{by_name[swallowed].flag}' requires an argument, found '{given[swallowed]}'.")
    words = params.get("words")
    return Said(
        words=tuple(str(word) for word in words) if isinstance(words, tuple) else (str(words),) if words is not None else (),
        values={name: str(value) for name, value in given.items() if by_name[name].metavar and not by_name[name].many},
        flags=frozenset(name for name in given if not by_name[name].metavar),
        after=tuple(after),
        lists={name: tuple(map(str, value)) for name, value in given.items() if isinstance(value, tuple) and value},
    )


def _option(option: Option) -> click.Option:
    kind = click.Choice(option.choices) if option.choices else None
    is_flag = True if option.metavar is None else None  # False lets click 8.5 take an option without its value
    offered = _offer(lambda: option.choices or offers.values(option.flag)) if option.metavar else None
    return click.Option(
        [option.flag, option.name],
        type=kind,
        is_flag=is_flag,
        multiple=option.many,
        metavar=option.metavar,
        help=option.help,
        shell_complete=offered,
    )


def _offer(every: Callable[[], Iterable[str]]) -> Callable[[click.Context, click.Parameter, str], list[str]]:
    """What the shell may offer for a word begun: those of ``every`` that begin so."""
    return lambda ctx, param, begun: [word for word in every() if word.startswith(begun)]


def _left(option: Option) -> str:
    if option.choices:
        return f"{option.flag} [{'|'.join(option.choices)}]"
    return f"{option.flag} {option.metavar}" if option.metavar else option.flag


def _version(ctx: click.Context, param: click.Parameter, value: object) -> None:
    if value:
        streams.say(about() + "\n")
        ctx.exit()
