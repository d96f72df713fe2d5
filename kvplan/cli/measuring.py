"""``sweep --measure``: a run after the other, kept as they end."""

from collections.abc import Iterator
from contextlib import ExitStack, closing
from pathlib import Path

from kvplan.cli import progress, runs, streams
from kvplan.cli.command import Said
from kvplan.core.errors import EXIT_OK, RequestError
from kvplan.estimator.sweep import Axis, combinations
from kvplan.render import measured
from kvplan.render.measured import Row
from kvplan.verifier.journal import Journal
from kvplan.verifier.sweep import Bench


def run(axes: tuple[Axis, ...], said: Said) -> int:
    """The answer, on stdout; ``-o`` is the file of finished runs, whose results are not measured again."""
    choices = list(combinations(axes, one_at_a_time="grid" not in said.flags))
    with ExitStack() as stack:
        name = said.values.get("o", "-")
        journal = None if name == "-" else stack.enter_context(closing(Journal(Path(name))))
        rows = _answered(_rows(Bench(axes, runs.asked(said), journal), axes, choices, quiet="q" in said.flags))
        streams.write_each(
            _rendered(axes, rows, said), said._replace(values={key: value for key, value in said.values.items() if key != "o"})
        )
    return EXIT_OK


def _rows(bench: Bench, axes: tuple[Axis, ...], choices: list[tuple[str | None, ...]], *, quiet: bool) -> Iterator[Row]:
    known = [bench.known(at) for at in choices]
    if not quiet:
        progress.notice(f"{len(choices)} points, {sum(found is not None for found in known)} of them measured before")
    for i, at in enumerate(choices):
        found = known[i]
        if found is None:
            progress.bar(i, len(choices), " ".join(f"{axis.option} {value}" for axis, value in zip(axes, at, strict=True) if value))
            found = bench.measured(at)
        yield at, found
        streams.flush()


def _answered(rows: Iterator[Row]) -> Iterator[Row]:
    """These rows, from when one was measured. Raises the first one's failure where none was."""
    waiting: list[Row] = []
    for row in rows:
        waiting.append(row)
        if row[1].is_done:
            yield from waiting
            yield from rows
            return
    failure = waiting[0][1].failure
    assert failure is not None
    raise RequestError(failure.kind, failure.message, hint=failure.hint)


def _rendered(axes: tuple[Axis, ...], rows: Iterator[Row], said: Said) -> Iterator[str]:
    if "json" in said.flags:
        from kvplan.render.envelope import dumps

        yield dumps(measured.as_json(axes, rows)) + "\n"
    elif "csv" in said.flags:
        yield from measured.as_csv(axes, rows)
    else:
        yield from (line + "\n" for line in measured.text(axes, rows))
