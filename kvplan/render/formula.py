"""Formulas with their numbers in place."""

from kvplan.core.ledger import Entry


def substituted(entry: Entry) -> str:
    """The entry's formula with its inputs filled in: ``{n_layers} · {elems}`` becomes ``32 · 8,192``."""
    return entry.formula.format_map({name: f"{value:,}" if isinstance(value, int) else value for name, value in entry.inputs.items()})
