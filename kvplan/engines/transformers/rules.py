"""What differs between versions of Transformers; a new version is a new ``Rules``."""

from typing import NamedTuple


class Rules(NamedTuple):
    """Behavior from version ``since`` on."""

    since: str
    source: str


RULES = (Rules(since="5.17.0", source="transformers 5.24.0, cache_utils.py and generation/utils.py"),)
VERSIONS = ("5.17.0", "5.24.0")
