"""A made-up chat: what reuse saves turn by turn, and what an edit, a cut history or private text in front undo."""

from array import array
from collections.abc import Iterator
from typing import NamedTuple

from kvplan.core.errors import RequestError, did_you_mean
from kvplan.core.units import parse_count
from kvplan.prefixes.keeping import Kept
from kvplan.prefixes.request import Request

_COUNTS = {"turns": 0, "user": 200, "answer": 300, "system": 1000, "private": 0, "sessions": 1, "keep": 0}
_MOST_TOKENS = 2 * 10**8
EXAMPLE = "--chat turns=20,user=200,answer=300,system=1000,edit=5@3,sessions=8"


class Spec(NamedTuple):
    """``sessions`` chats side by side of ``turns`` turns, each of ``user`` tokens and an answer of ``answer``.

    All begin with the same ``system`` tokens; ``private`` tokens of each chat's own stand before them. ``edits`` are pairs (turn, earlier
    turn): when that turn is sent, the user's message of the earlier one has other words. Histories longer than ``keep`` tokens lose
    their oldest turns; 0 keeps all.
    """

    turns: int
    user: int
    answer: int
    system: int
    private: int
    sessions: int
    keep: int
    edits: tuple[tuple[int, int], ...]

    @property
    def all_tokens(self) -> int:
        """Tokens of all prompts together, at most."""
        growing = self.turns * (self.turns - 1) // 2 * (self.user + self.answer)
        return self.sessions * (self.turns * (self.private + self.system + self.user) + growing)


class Turn(NamedTuple):
    """One turn over all chats: tokens of the prompts, those that were found, and those that an edit or a cut took from what was kept."""

    turn: int
    prompt_tokens: int
    hit_tokens: int
    invalidated_tokens: int


class Chat(NamedTuple):
    """The chats that were asked for, turn by turn, and what is kept of one at its end."""

    spec: Spec
    turns: tuple[Turn, ...]
    kept: Kept | None


def spec(said: str) -> Spec:
    """The chat in words: ``turns=20,user=200,answer=300,system=1000,edit=5@3+9@1,sessions=8``. Raises RequestError for what it is not."""
    words: dict[str, str] = {}
    for part in filter(None, (part.strip() for part in said.split(","))):
        key, equals, value = part.partition("=")
        if key not in (*_COUNTS, "edit") or not equals:
            known = (*_COUNTS, "edit")
            near = "" if key in known else did_you_mean(key, known)
            raise RequestError("bad_chat", f"--chat: expected key=number, found '{part}'", hint=near or f"keys: {', '.join(known)}")
        words[key] = value
    counts = {key: _count(key, words[key]) if key in words else usual for key, usual in _COUNTS.items()}
    if not counts["turns"]:
        raise RequestError("bad_chat", "--chat: says not how many turns", hint=EXAMPLE)
    edits = tuple(_edit(one, counts["turns"]) for one in words.get("edit", "").split("+") if one)
    found = Spec(**counts, edits=edits)
    if found.all_tokens > _MOST_TOKENS:
        raise RequestError(
            "bad_chat", f"--chat: prompts of {found.all_tokens:,} tokens in all are too many to replay", hint="fewer turns or sessions"
        )
    return found


def _count(key: str, value: str) -> int:
    return 0 if value.strip() == "0" and key in ("system", "private", "keep") else parse_count(value, option=f"--chat {key}")


def _edit(said: str, turns: int) -> tuple[int, int]:
    turn, at, earlier = said.partition("@")
    if not at or not turn.strip().isdecimal() or not earlier.strip().isdecimal() or not 1 <= int(earlier) < int(turn) <= turns:
        raise RequestError(
            "bad_chat",
            f"--chat edit={said}: expected a turn of the {turns}, and an earlier one that it edits",
            hint="edit=5@3; several: edit=5@3+9@1",
        )
    return int(turn), int(earlier)


class Sent(NamedTuple):
    """A request of the chat: which turn, and how many of its first tokens stand as they did in the last one of its chat."""

    turn: int
    request: Request
    unchanged: int
    before: int


def requests(asked: Spec) -> Iterator[Sent]:
    """Every turn of every chat, a turn of each after the other."""
    ids = _Ids()
    system = ids.fresh(asked.system)
    private = [ids.fresh(asked.private) for _ in range(asked.sessions)]
    said: list[list[tuple[bytes, bytes]]] = [[] for _ in range(asked.sessions)]
    last = [b""] * asked.sessions
    first = [0] * asked.sessions
    for turn in range(1, asked.turns + 1):
        for one in range(asked.sessions):
            history = said[one]
            for _, earlier in (edit for edit in asked.edits if edit[0] == turn):
                history[earlier - 1] = ids.fresh(asked.user), history[earlier - 1][1]
            user, answer = ids.fresh(asked.user), ids.fresh(asked.answer)
            head = private[one] + system
            first[one] = _first(asked, history, first[one], len(head) // 4)
            prompt = head + b"".join(a + b for a, b in history[first[one] :]) + user
            history.append((user, answer))
            yield Sent(turn, Request(turn, ids=prompt, answer=answer, session=str(one)), _same(last[one], prompt), len(last[one]) // 4)
            last[one] = prompt + answer


def _first(asked: Spec, history: list[tuple[bytes, bytes]], first: int, n_head: int) -> int:
    """The oldest turn that is kept: as many go as it takes."""
    while asked.keep and first < len(history):
        if n_head + sum(len(a) + len(b) for a, b in history[first:]) // 4 + asked.user <= asked.keep:
            break
        first += 1
    return first


def _same(earlier: bytes, later: bytes) -> int:
    from kvplan.replay.tree import common

    return common(earlier, later, 0, 4) // 4


class _Ids:
    """Tokens that nobody else has; a spec of at most 2 · 10^9 has as many ids."""

    def __init__(self) -> None:
        self._next = 0

    def fresh(self, n: int) -> bytes:
        self._next += n
        return array("I", range(self._next - n, self._next)).tobytes()
