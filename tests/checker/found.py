"""Small trees to check, and what is found in them as rows of text."""

from collections.abc import Mapping
from pathlib import Path

from kvplan.checker.case import Case
from kvplan.checker.check import check
from kvplan.checker.config import Config


def cases(folder: Path, files: Mapping[str, str], **settings: object) -> list[Case]:
    """The servers in these files."""
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    config = Config.model_validate({"gpu": "none", **settings, "root": folder})
    return list(check([str(folder)], config).cases)


def row(case: Case) -> str:
    """line name engine model context concurrency tp/pp/dp GPUs."""
    said = case.reading
    fields = (
        *(case.server.line, case.server.name, said.engine, said.model.text if said.model else None, said.ctx_tokens, said.concurrency),
        *(f"{said.tp or '?'}/{said.pp or '?'}/{said.dp or '?'}", case.server.gpus.n_gpus),
    )
    return " ".join("-" if field is None else str(field) for field in fields)


def rows(folder: Path, files: Mapping[str, str], **settings: object) -> list[str]:
    """A row for each server in these files."""
    return [row(case) for case in cases(folder, files, **settings)]
