"""What every JSON answer carries beside its own keys."""

import json
from collections.abc import Mapping

from kvplan import __version__

SCHEMA_VERSION = 1  # keys are only added within a version

_encoded = json.JSONEncoder(ensure_ascii=False, check_circular=False).encode  # answers are trees, and there are thousands


def enveloped(answer: Mapping[str, object]) -> dict[str, object]:
    """``answer`` behind the version of its keys and of kvplan."""
    return {"schema_version": SCHEMA_VERSION, "kvplan": __version__, **answer}


def dumps(answer: Mapping[str, object]) -> str:
    """One JSON document, its signs as they are."""
    return _encoded(answer)


def document(answer: Mapping[str, object]) -> str:
    """``answer`` in its envelope, as the text of a file."""
    return dumps(enveloped(answer)) + "\n"
