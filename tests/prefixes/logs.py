"""Logs made up for tests."""

import json
from pathlib import Path

RULES = (
    "You help customers of a shop that sells lamps. Be brief and kind. Never promise a date of delivery. "
    "Returns are free within thirty days; after that the customer pays."
)


def written(folder: Path, *requests: object) -> str:
    """A log of these requests."""
    path = folder / "requests.jsonl"
    path.write_text("".join(json.dumps(one) + "\n" for one in requests), encoding="utf-8")
    return str(path)


def chat(*texts: str, **more: object) -> dict[str, object]:
    """System text, then user and assistant in turn."""
    roles = ("system", *("user", "assistant") * len(texts))
    return {"messages": [{"role": role, "content": text} for role, text in zip(roles, texts, strict=False)], **more}
