"""What an hour of a card costs, from the user's file: kvplan knows no prices."""

from collections.abc import Mapping

from kvplan.core.errors import RequestError
from kvplan.hardware import catalog

_LINES = "one GPU and its price for an hour a line, with a tab between"

Prices = tuple[tuple[str, float], ...]


def read_prices(name: str) -> Prices:
    """Prices of an hour by the card's id: lines of ``gpu<TAB>price``, or a YAML mapping.

    Raises RequestError for an unknown card, or a price that is no positive number.
    """
    mapped, lines = _read(name)
    if mapped is not None:
        return _checked(mapped, name)
    rows = [line.split("\t") for line in lines if line.strip() and not line.startswith("#")]
    wrong = next((row for row in rows if len(row) < 2), None)
    if wrong is not None:
        raise RequestError("bad_file", f"{name}: expected GPU and price with a tab between, found '{wrong[0]}'", hint="l4<TAB>0.71")
    body = rows[1:] if rows and _number(rows[0][1]) is None and rows[0][0].strip().lower() in ("gpu", "id", "name") else rows
    return _checked({row[0].strip(): row[1] for row in body}, name)


def _read(name: str) -> tuple[Mapping[str, object] | None, list[str]]:
    """A mapping, or lines of text."""
    from pathlib import Path

    from kvplan.specs.files import read_text, read_yaml

    try:
        if name.endswith((".yaml", ".yml", ".json")):
            return read_yaml(Path(name)), []
        return None, read_text(Path(name)).splitlines()
    except RequestError as problem:  # whose hint is of a model's files
        raise RequestError("bad_file", problem.message, hint=_LINES) from None


def _checked(said: Mapping[str, object], name: str) -> Prices:
    found = []
    for gpu, value in said.items():
        price = _number(value)
        if price is None or not 0 < price < float("inf"):
            raise RequestError("bad_file", f"{name}: {gpu}: expected a price for an hour, found '{value}'", hint="a number above 0")
        found.append((catalog.find(gpu).id, price))
    if not found:
        raise RequestError("bad_file", f"{name}: no prices in it", hint=_LINES)
    return tuple(found)


def _number(value: object) -> float | None:
    try:
        return float(str(value))
    except ValueError:
        return None
