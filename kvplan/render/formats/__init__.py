"""Formats of a check: a module each, with ``NAME`` and ``render(report: Report) -> str``."""
