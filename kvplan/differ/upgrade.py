"""What another version of an engine does to a server, apart from what else was changed with it."""

from collections.abc import Callable

from kvplan.checker.case import Case
from kvplan.checker.changes import Shift, Upgrade
from kvplan.checker.server import Server
from kvplan.checker.verdicts import worst
from kvplan.comparer.differences import changes, rows

_TOLD = ("verdict", "refused", "max_ctx_tokens", "kv_tokens", "max_concurrency")

Ask = Callable[[Server], Case]


def upgrade(before: Case, now: Case, ask: Ask) -> Upgrade | None:
    """None where engine and version are as they were. ``ask`` makes a case of a server, beside what the project's settings say."""
    old, new = before.reading, now.reading
    if old.engine is None or old.engine != new.engine or old.version == new.version or old.version is None or new.version is None:
        return None
    told = Upgrade(new.engine or "", old.version, new.version, is_known=False)
    held = ask(now.server._replace(image=before.server.image, pinned=before.server.pinned))
    first, last = worst(held), worst(now)
    if first is None or last is None or first.estimate is None or last.estimate is None or held.reading.version != old.version:
        return told
    answers = (first.estimate, last.estimate)
    shifts = [Shift(one.name, *one.values) for one in changes(answers) if one.name in _TOLD and one.differs]
    terms = [Shift(one.term, *(size.best for size in one.sizes)) for one in rows(answers) if any(one.deltas) and one.term != "total"]
    return told._replace(figures=shifts, terms=terms, is_known=True)
