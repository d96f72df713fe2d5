"""The catalogue of GPUs as a table or JSON."""

import json

from kvplan import __version__
from kvplan.core.errors import RequestError, did_you_mean
from kvplan.hardware import catalog


def listing(words: str, *, as_json: bool) -> str:
    """Every GPU whose id, name or vendor holds all ``words``. Raises RequestError when none does."""
    wanted = words.lower().split()
    rows = [row for row in catalog.rows().values() if all(word in " ".join(row.values()).lower() for word in wanted)]
    if not rows:
        raise RequestError(
            "unknown_gpu", f"no GPU matches '{words}'", hint=did_you_mean(words, catalog.rows()) or "`kvplan gpus` shows all"
        )
    if as_json:
        return json.dumps({"schema_version": 1, "kvplan": __version__, "gpus": rows}, ensure_ascii=False) + "\n"
    return "\n".join(row["id"] for row in rows) + "\n"
