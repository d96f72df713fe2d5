"""What a change does to the servers that files deploy: the tree as it is against a revision or another folder."""

from collections import defaultdict
from collections.abc import Callable, Hashable, Mapping, Sequence
from pathlib import Path

from kvplan.checker import walk
from kvplan.checker.case import Case, Found
from kvplan.checker.changes import KINDS, Change, Diff
from kvplan.checker.check import checked
from kvplan.checker.config import Config, find
from kvplan.checker.reader import given
from kvplan.checker.report import Report, Suppressed, in_order
from kvplan.checker.resolve import cases
from kvplan.checker.server import Server
from kvplan.differ.before import opened, settings
from kvplan.differ.judged import figures, judged, split
from kvplan.differ.pairs import Pairs, paired, written
from kvplan.differ.upgrade import upgrade

__all__ = ["check_diff"]


def check_diff(
    base: str, paths: str | Sequence[str] = (), settle: Callable[[Config], Config] | None = None, *, online: bool = False, jobs: int = 1
) -> Report:
    """What is worse than at ``base``: a report with the findings that are new or of a higher level, and with each server's change.

    ``base`` is a revision (``main``; ``main...`` is the commit where HEAD left it) or a folder that stands in the place of the one that
    ``paths`` names. The tree before is read with the settings that it had, where it had any; which rules count is today's. ``settle``
    gets both settings, and gives those to use. Raises KvplanError for what is no base, and like ``check``.
    """
    paths = (paths,) if isinstance(paths, str) else paths
    settled = settle or (lambda config: config)
    config = settled(find(Path(paths[0] if paths else ".")))
    tree = walk.tree(paths, config.exclude)
    with opened(base, tree, config) as before:
        old = (
            checked(before.tree, settings(before, tree, config, settled), online=online, jobs=jobs) if before.tree.paths else Report((), ())
        )
        now = checked(tree, config, online=online, jobs=jobs)
    old = old._replace(found=[_at_home(one, before.tree.root) for one in old.found])
    return _compared(base, before.revision, (old, now), lambda server: cases([server], given(config, tree, online=online))[0])


def _at_home(one: Found, folder: Path) -> Found:
    """The finding without the name of a folder that is no more."""
    return one._replace(message=one.message.replace(f"{folder}/", ""), hint=one.hint.replace(f"{folder}/", ""))


def _compared(base: str, revision: str | None, reports: tuple[Report, Report], ask: Callable[[Server], Case]) -> Report:
    old, now = reports
    pairs = paired(old.cases, now.cases, (old.lines, now.lines))
    brought, cured, known = _of_files(reports, pairs.renamed)
    changes, of_server = [], (_by_server(old.found), _by_server(now.found))
    for before, after in pairs.same:
        new, gone, same = split(of_server[0][_place(before.server)], of_server[1][_place(after.server)], {})
        brought, cured, known = brought + new, cured + gone, known + same
        if new or gone or written(before) != written(after) or figures(before) != figures(after):
            kind, by = judged(before, after, new, gone)
            changes.append(Change(kind, before, after, by, new, gone, upgrade(before, after, ask)))
    n_unchanged = len(pairs.same) - len(changes)
    alone, fresh, left = _alone(pairs, of_server)
    every = sorted((*changes, *alone), key=_order)
    diff = Diff(base, revision, every, n_unchanged, len(known), in_order([*cured, *left]))
    known_ones = tuple(Suppressed(one, f"known at {base}", in_source=False) for one in in_order(known))
    return now._replace(found=in_order([*brought, *fresh]), suppressed=(*now.suppressed, *known_ones), diff=diff)


def _alone(
    pairs: Pairs, of_server: tuple[Mapping[Hashable, list[Found]], Mapping[Hashable, list[Found]]]
) -> tuple[list[Change], list[Found], list[Found]]:
    """Servers that are new or gone, with what the former bring and the latter take along."""
    new = [Change("new", None, case, brought=of_server[1].get(_place(case.server), [])) for case in pairs.new]
    gone = [Change("removed", case, None, cured=of_server[0].get(_place(case.server), [])) for case in pairs.gone]
    return [*new, *gone], [one for change in new for one in change.brought], [one for change in gone for one in change.cured]


def _of_files(reports: tuple[Report, Report], renamed: Mapping[str, str]) -> tuple[list[Found], list[Found], list[Found]]:
    """What is said of files and not of a server."""
    old, now = ([one for one in report.found if one.server is None] for report in reports)
    return split(old, now, dict(renamed))


def _by_server(found: Sequence[Found]) -> dict[Hashable, list[Found]]:
    by_place: dict[Hashable, list[Found]] = defaultdict(list)
    for one in found:
        if one.server is not None:
            by_place[_place(one.server)].append(one)
    return by_place


def _place(server: Server) -> Hashable:
    return (server.file, server.line, server.kind, server.name, tuple(word.text for word in server.command))


def _order(change: Change) -> tuple[int, str, int]:
    """As people read: what is worse first, then by place."""
    case = change.after or change.before
    assert case is not None
    return KINDS.index(change.kind), case.server.file, case.server.line
