"""Sizes and counts: exact integers inside, units only where people read or type them."""

import re
from typing import NewType

from kvplan.core.errors import RequestError

Bytes = NewType("Bytes", int)

KIB, MIB, GIB, TIB = 2**10, 2**20, 2**30, 2**40

_SIZE_UNITS = {
    "b": 1,
    "kb": 10**3,
    "mb": 10**6,
    "gb": 10**9,
    "tb": 10**12,
    "kib": KIB,
    "mib": MIB,
    "gib": GIB,
    "tib": TIB,
}
_COUNT_UNITS = {"": 1, "k": 1024, "m": 1024**2}
_NUMBER = r"(\d{1,15}(?:[.]\d{1,6})?)"


def ceil_div(amount: int, step: int) -> int:
    """Smallest whole number of steps that hold ``amount``."""
    return -(-amount // step)


def ceil_to(amount: int, step: int) -> int:
    """``amount`` rounded up to a multiple of ``step``."""
    return ceil_div(amount, step) * step


def _scaled(number: str, factor: int) -> tuple[int, int]:
    """Whole part and remainder of ``number`` times ``factor``, in exact arithmetic."""
    whole, _, fraction = number.partition(".")
    scale: int = 10 ** len(fraction)
    return divmod(int(whole + fraction) * factor, scale)


def parse_size(text: str, *, option: str) -> Bytes:
    """Bytes of a size with its unit: ``24GiB`` is 24 · 2^30, ``24GB`` is 24 · 10^9; a fraction of a byte is dropped.

    Raises RequestError for a number without a unit, a negative one, or none at all.
    """
    found = re.fullmatch(_NUMBER + r"\s*([a-z]*)", text.strip(), re.IGNORECASE | re.ASCII)
    unit = found[2].lower() if found else ""
    if found and unit in _SIZE_UNITS:
        amount, _ = _scaled(found[1], _SIZE_UNITS[unit])
        if amount > 0:
            return Bytes(amount)
    hint = f"write {found[1]}GiB or {found[1]}GB" if found and not unit else "write a size such as 24GiB, 512MiB or 24GB"
    raise RequestError("bad_size", f"{option}: expected a size with a unit, found '{text}'", hint=hint)


def parse_count(text: str, *, option: str) -> int:
    """A count of at least 1; ``32k`` is 32 · 1024 and ``1M`` is 1024^2.

    Raises RequestError for anything else: fractions of one, zero, negative numbers, words, more than int32 holds.
    """
    if text.isascii() and text.isdigit() and 1 <= (plain := int(text[:_DIGITS])) <= MAX_COUNT and len(text) <= _DIGITS:  # the hot path
        return plain
    found = re.fullmatch(_NUMBER + r"([km]?)", text.strip(), re.IGNORECASE | re.ASCII)
    amount, rest = _scaled(found[1], _COUNT_UNITS[found[2].lower()]) if found else (0, 0)
    if rest or not 1 <= amount <= MAX_COUNT:
        raise RequestError(
            "bad_number",
            f"{option}: expected a whole number from 1 to {MAX_COUNT}, found '{text}'",
            hint="32k is 32 · 1024" if re.search("[a-z.,]", text, re.IGNORECASE) else "",
        )
    return amount


MAX_COUNT = 2**31 - 1  # engines keep token positions and sequence ids in int32
_DIGITS = len(str(MAX_COUNT))


def format_size(n_bytes: int) -> str:
    """The size in the largest binary unit that keeps it at 1 or above; exact below 1 KiB."""
    for unit, name in ((TIB, "TiB"), (GIB, "GiB"), (MIB, "MiB"), (KIB, "KiB")):
        if abs(n_bytes) >= unit:
            return f"{n_bytes / unit:.2f} {name}"
    return f"{n_bytes} B"


def format_exact(n_bytes: int) -> str:
    """The size in the largest binary unit that divides it: ``parse_size`` gives it back."""
    for unit, name in ((TIB, "TiB"), (GIB, "GiB"), (MIB, "MiB"), (KIB, "KiB")):
        if n_bytes and n_bytes % unit == 0:
            return f"{n_bytes // unit}{name}"
    return f"{n_bytes}B"


def format_count(count: int) -> str:
    """The count in the largest of M and k that divides it: ``parse_count`` gives it back."""
    for unit, name in ((1024**2, "M"), (1024, "k")):
        if count and count % unit == 0:
            return f"{count // unit}{name}"
    return str(count)
