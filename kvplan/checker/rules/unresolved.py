"""KV590: a variable that nothing gives a value."""

from collections.abc import Iterator

from kvplan.checker.case import Case, Found
from kvplan.checker.wording import found


def check(case: Case) -> Iterator[Found]:
    """A note that names them, once a server."""
    if not case.unresolved:
        return
    names = ", ".join(case.unresolved)
    message = f"{names}: no value is known here, so this server can't be checked in full"
    yield found("KV590", "note", case, (), message, f"--set {case.unresolved[0]}=…, or --env-file FILE")
