"""KV592: servers whose GPU nobody named."""

from collections.abc import Iterator, Sequence

from kvplan.checker.case import Case, Found
from kvplan.checker.wording import found


def check(case: Case) -> Iterator[Found]:
    """Nothing of one server: it is said once for all of them."""
    yield from ()


def check_all(cases: Sequence[Case]) -> Iterator[Found]:
    """One note for the whole run, at the first of them, with the line that would tell."""
    blind = [case for case in cases if case.reading.engine and all(tried.gpu is None and tried.n_gpus != 0 for tried in case.tried)]
    if blind:
        which = "this server gets" if len(blind) == 1 else f"{len(blind)} servers get (this is the first)"
        message = f"nothing says which GPU {which}: whether {'it fits' if len(blind) == 1 else 'they fit'} is not checked"
        yield found("KV592", "note", blind[0], (), message, "--gpu ID, or `gpu: l40s` in .kvplan.yaml; `kvplan gpus` lists them")
