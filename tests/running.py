"""What a run of the command line gives."""

from collections.abc import Callable
from typing import NamedTuple


class Ran(NamedTuple):
    code: int
    out: str
    err: str


Run = Callable[..., Ran]


def refused(kvplan: Run, *argv: str) -> str:
    """The complaint about ``argv``, which must be one and not a crash."""
    code, out, err = kvplan(*argv)
    assert code == 2
    assert out == ""
    assert err.startswith("error: ")
    assert "Traceback" not in err
    assert "internal error" not in err
    return err
