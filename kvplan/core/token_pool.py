"""A pool that is sized in tokens: what it holds of sequences, and what those take of it."""

from typing import NamedTuple

from kvplan.core.units import ceil_to

_PARTS = 1000  # in which the shares of pools are counted


class Part(NamedTuple):
    """Layers that hold the same tokens of a sequence, at most ``window_tokens`` of one (None: all). ``token_bytes`` is what a token
    takes in all of them; of ``share`` thousandths of the pool's tokens they have room."""

    token_bytes: int
    window_tokens: int | None = None
    share: int = _PARTS

    def tokens(self, n_tokens: int, page_tokens: int) -> int:
        """Room in this part of a pool of ``n_tokens``, in whole pages."""
        return n_tokens * self.share // _PARTS // page_tokens * page_tokens


class States(NamedTuple):
    """States of fixed size beside the tokens: a slot takes ``slot_bytes``, a running sequence ``n_each`` slots, ``n_spare`` are kept for
    padding. ``n_slots`` is their number where the settings say it; else they get ``per_mille`` of what the tokens get."""

    slot_bytes: int
    n_each: int = 1
    n_spare: int = 1
    n_slots: int | None = None
    per_mille: int = 900


class Pool(NamedTuple):
    """Parts of one rank. ``spare_tokens`` are kept beside those that sequences may have; ``most_tokens`` is a limit that was set.
    ``rounds_up``: the last page may be one that the budget does not fill."""

    parts: tuple[Part, ...]
    page_tokens: int
    spare_tokens: int = 0
    states: States | None = None
    most_tokens: int | None = None
    rounds_up: bool = False

    @property
    def token_bytes(self) -> int:
        """Bytes of one more token of the pool, all parts by their shares."""
        return sum(part.token_bytes * part.share for part in self.parts) // _PARTS

    def wanted(self, ctx_tokens: int, batch: int) -> int:
        """Tokens that the pool must have for ``batch`` sequences of ``ctx_tokens``, in whole pages."""
        most = 0
        for part in self.parts:
            held = batch * ceil_to(_held(ctx_tokens, part, self.page_tokens), self.page_tokens)
            most = max(most, -(-held * _PARTS // part.share))
        return ceil_to(most, self.page_tokens)

    def n_bytes(self, n_tokens: int) -> int:
        """Bytes of the tokens alone, with those kept to spare."""
        return sum(part.token_bytes * (part.tokens(n_tokens, self.page_tokens) + self.spare_tokens) for part in self.parts)

    def slots_in(self, n_bytes: int) -> int:
        """Slots of states that a budget for tokens and states gives."""
        states = self.states
        if states is None:
            return 0
        if states.n_slots is not None:
            return states.n_slots
        theirs = n_bytes * states.per_mille // (1000 + states.per_mille) if self.parts else n_bytes
        return max(0, theirs // states.slot_bytes - states.n_spare)

    def tokens_in(self, n_bytes: int) -> int:
        """Tokens that a budget holds beside the states, in whole pages."""
        rest = n_bytes - self.state_bytes(self.slots_in(n_bytes))
        if rest <= 0 or not self.token_bytes:
            return 0
        found = rest * _PARTS // sum(part.token_bytes * part.share for part in self.parts)
        found = found if self.most_tokens is None else min(found, self.most_tokens)
        return ceil_to(found, self.page_tokens) if self.rounds_up else found // self.page_tokens * self.page_tokens

    def state_bytes(self, n_slots: int) -> int:
        """Bytes of so many slots and of those kept to spare."""
        return 0 if self.states is None else (n_slots + self.states.n_spare) * self.states.slot_bytes

    def used(self, ctx_tokens: int, batch: int) -> int:
        """Bytes of the pool that this needs: of parts in fixed proportions, all that come with the one that is needed most."""
        tokens = self.n_bytes(self.wanted(ctx_tokens, batch)) if self.parts else 0
        states = self.states
        if states is None:
            return tokens
        if states.n_slots is not None:
            return tokens + self.state_bytes(max(states.n_slots, batch * states.n_each))
        slots = self.state_bytes(batch * states.n_each)
        if not self.parts:
            return slots
        return max(tokens + tokens * states.per_mille // 1000, slots + slots * 1000 // states.per_mille)

    def fits(self, n_tokens: int, n_slots: int, ctx_tokens: int, batch: int) -> bool:
        """Whether so many tokens and slots hold ``batch`` sequences of that length."""
        enough = self.states is None or n_slots >= batch * self.states.n_each
        return enough and (not self.parts or self.wanted(ctx_tokens, batch) <= n_tokens)

    def at_once(self, n_tokens: int, n_slots: int, ctx_tokens: int) -> float:
        """Sequences of that length that so many tokens and slots hold."""
        found = n_tokens / self.wanted(ctx_tokens, 1) if self.parts else float(n_slots)
        return found if self.states is None else min(found, float(n_slots // self.states.n_each))

    def longest(self, n_tokens: int, n_slots: int, limit: int) -> int:
        """The longest sequence, up to ``limit``, that so many tokens and slots hold by itself."""
        if self.states is not None and n_slots < self.states.n_each:
            return 0
        low, high = 0, limit
        while low < high:
            middle = (low + high + 1) // 2
            low, high = (middle, high) if self.wanted(middle, 1) <= n_tokens else (low, middle - 1)
        return low


def _held(ctx_tokens: int, part: Part, page_tokens: int) -> int:
    """Tokens of a sequence in a part: beside a window a page of its own."""
    return ctx_tokens if part.window_tokens is None else min(ctx_tokens, part.window_tokens + page_tokens)
