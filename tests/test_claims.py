"""The README's table of claims: every row's command prints what the row says in bold."""

import re
import shlex
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.running import Run

ROOT = Path(__file__).parent.parent
SECTION = re.search(r"\n## Claims that articles make\n(.*?)\n## ", (ROOT / "README.md").read_text(encoding="utf-8"), re.DOTALL)


class Claim(NamedTuple):
    """A row: what is said, what is right, the command, and the file of what it printed where it takes long or needs hardware."""

    said: str
    right: str
    command: str
    printed: str | None

    @property
    def values(self) -> list[str]:
        return re.findall(r"\*\*(.+?)\*\*", self.right)


def claims() -> list[Claim]:
    assert SECTION is not None
    rows = re.findall(r"^\| ([^-|][^|]*) \| ([^|]+) \| `(kvplan [^`]+)`(?: \(\[printed\]\(([^)]+)\)\))? \|$", SECTION[1], re.MULTILINE)
    return [Claim(said, right, command, printed or None) for said, right, command, printed in rows]


def test_every_row_is_read() -> None:
    assert SECTION is not None
    assert len(claims()) == SECTION[1].count("\n| ") - 1 >= 20


@pytest.mark.parametrize("claim", claims(), ids=lambda claim: claim.said)
def test_a_command_shows_what_is_right(kvplan: Run, claim: Claim) -> None:
    if claim.printed is None:
        ran = kvplan(*shlex.split(claim.command)[1:])
        shown = ran.out + ran.err
    else:
        shown = (ROOT / claim.printed).read_text(encoding="utf-8")
    joined = " ".join(shown.split())
    assert claim.values
    assert [value for value in claim.values if value not in joined] == []
