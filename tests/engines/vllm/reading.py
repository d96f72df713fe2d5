"""Command lines as kvplan reads them."""

import shlex

from kvplan.core.engine import Parsed
from kvplan.engines.vllm.command import parse

ENTRY = ("entry", "usage")


def read(line: str, version: str = "0.33.0") -> Parsed:
    return parse(shlex.split(line), {}, version)


def said(line: str, version: str = "0.33.0") -> dict[str, str]:
    return {flag.name: flag.value for flag in read(line, version).flags if flag.name not in ENTRY}
