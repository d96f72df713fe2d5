"""Tools: a module each, with ``NAME``, ``DESCRIPTION``, its input ``Asked`` and ``answer(asked: Asked) -> str``, a JSON document."""
