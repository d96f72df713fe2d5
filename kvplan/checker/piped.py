"""A deployment file on stdin, which has no name that would tell its format."""

import re

from kvplan.core.errors import RequestError
from kvplan.specs.files import stdin, text_of

NAME = "<stdin>"


def text(most: int) -> str:
    """The text. Raises RequestError for more than ``most`` bytes, and where there is nothing."""
    raw = stdin().read(most + 1)
    if not raw.strip():
        raise RequestError("bad_file", f"{NAME}: it is empty", hint="pipe a deployment file in: helm template . | kvplan check -")
    return text_of(raw, NAME)


def name_of(text: str) -> str:
    """What a file with this text is most likely called: stdin has no name that would tell its format."""
    lines = [line for line in text.splitlines() if line.strip() and not line.lstrip().startswith(("#", ";"))]
    first = lines[0] if lines else ""
    if re.match(r"FROM\s", first, re.IGNORECASE):
        return "Modelfile" if re.search(r"^\s*PARAMETER\s", text, re.IGNORECASE | re.MULTILINE) else "Dockerfile"
    if re.match(r"\[[^\]\s]+\]$|version\s*=", first):
        return "stdin.ini"
    return "stdin.yaml" if re.match(r"---|%YAML|\{\{|(?:- )?[\w.\"'/-]+:(?:\s|$)", first) else "stdin.sh"
