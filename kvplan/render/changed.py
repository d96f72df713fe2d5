"""What a change did to a server as one row: before → after, once where nothing differs."""

from collections import Counter
from collections.abc import Iterator, Sequence

from kvplan.checker.case import Found
from kvplan.checker.changes import KINDS, Change, Diff, Shift, Upgrade
from kvplan.checker.report import LEVELS
from kvplan.core.units import GIB
from kvplan.render.checked import Row, row

CELLS = ("change", "server", "engine", "model", "GPU", "context", "needed", "usable", "tokens", "at once", "verdict")
"""Heads of the columns; ``at once`` are sequences of the longest length."""
_FIGURES = {"max_ctx_tokens": "longest context", "kv_tokens": "tokens", "max_concurrency": "at once", "refused": "refused by"}
_SHORT = 12  # of a commit's name


def cells(change: Change) -> tuple[str, ...]:
    """The words of one change, one for each of ``CELLS``."""
    sides = [row(case) for case in (change.before, change.after) if case is not None]
    last = sides[-1]
    place = f"{last.file}:{last.line}"
    moved = f" (was {sides[0].file})" if sides[0].file != last.file else ""
    named = f" {last.name}" if last.name else ""
    told = [[_engine(side), side.model or "-", _gpu(side), _count(side.ctx_tokens)] for side in sides]
    told_figures = [
        [_size(side.needed_bytes), _size(side.usable_bytes), _count(side.kv_tokens), _times(side.max_concurrency)] for side in sides
    ]
    columns = zip(*(a + b + [side.verdict.replace("_", " ")] for a, b, side in zip(told, told_figures, sides, strict=True)), strict=True)
    return (change.kind, f"{place}{named}{moved}", *(" → ".join(dict.fromkeys(column)) for column in columns))


def upgrades(diff: Diff) -> Iterator[str]:
    """A sentence for each server whose engine has another version."""
    for change in diff.changes:
        if change.upgrade and change.after:
            yield f"{change.after.server.file}:{change.after.server.line}: {_upgrade(change.upgrade)}"


def _upgrade(upgrade: Upgrade) -> str:
    head = f"{upgrade.engine} {upgrade.before} → {upgrade.after}"
    if not upgrade.is_known:
        return f"{head}: what it does is not known here"
    told = [_figure(one) for one in upgrade.figures] + [_term(one) for one in upgrade.terms]
    return f"{head} by itself: {', '.join(told) if told else 'the same context, concurrency and bytes'}"


def _figure(one: Shift) -> str:
    values = " → ".join("none" if value is None else _said(value) for value in (one.before, one.after))
    return f"{_FIGURES.get(one.name, one.name)} {values}"


def _said(value: int | float | str) -> str:
    return value.replace("_", " ") if isinstance(value, str) else _times(value) if isinstance(value, float) else _count(value)


def _term(one: Shift) -> str:
    assert not isinstance(one.before, str)
    assert not isinstance(one.after, str)
    delta = (one.after or 0) - (one.before or 0)
    return f"{one.name.replace('_', ' ')} {'+' if delta > 0 else '−'}{abs(delta) / GIB:.2f} GiB"


def summed(diff: Diff) -> str:
    """``against main (1a2b3c4d5e6f): 1 worse, 2 new, 14 unchanged``."""
    counts = Counter(change.kind for change in diff.changes)
    told = [f"{counts[kind]} {kind}" for kind in KINDS if counts[kind]]
    told += [f"{diff.n_unchanged} unchanged"] if diff.n_unchanged or not told else []
    told += [f"{len(diff.cured)} finding{'' if len(diff.cured) == 1 else 's'} cured"] if diff.cured else []
    told += [f"{diff.n_known} known"] if diff.n_known else []
    commit = f" ({diff.revision[:_SHORT]})" if diff.revision and not diff.revision.startswith(diff.base) else ""
    return f"against {diff.base}{commit}: {', '.join(told)}"


def counted(found: Sequence[Found]) -> str:
    """``1 error, 2 warnings``; nothing where there is none."""
    counts = [(level, sum(one.level == level for one in found)) for level in LEVELS]
    return ", ".join(f"{n} {level}{'' if n == 1 else 's'}" for level, n in counts if n)


def _engine(side: Row) -> str:
    return " ".join(filter(None, (side.engine, side.version))) or "-"


def _gpu(side: Row) -> str:
    return "-" if side.gpu is None else f"{side.n_gpus or 1} × {side.gpu}"


def _size(n_bytes: int | None) -> str:
    return "-" if n_bytes is None else f"{n_bytes / GIB:.2f} GiB"


def _count(n: int | None) -> str:
    return "-" if n is None else f"{n:,}"


def _times(n: float | None) -> str:
    return "-" if n is None else f"{n:.2f}"
