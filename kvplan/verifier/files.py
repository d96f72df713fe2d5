"""Records as files: written whole or not at all, and named by what they measured."""

import os
import re
import tempfile
from pathlib import Path

from kvplan.core.errors import RequestError
from kvplan.hardware import names
from kvplan.verifier.process import dumps
from kvplan.verifier.record import Record

FOLDER = Path("reports") / "measurements"


def name(record: Record) -> str:
    """``h200_llama-2-7b_ctx4096_b8_2026-11-29T150000Z.json``: GPU, model, context, batch, date."""
    job = record.job
    known = names.with_label(record.device.name)
    gpu = known[0] if len(known) == 1 else record.device.name
    where = gpu if record.device.kind == "cuda" else record.device.kind
    how = "" if job.use_cache else "_no-cache"
    return f"{_slug(where)}_{_slug(job.id)}_ctx{job.ctx_tokens}_b{job.batch}{how}_{record.taken_at.replace(':', '')}.json"


def ready(folder: Path) -> None:
    """Make the folder if need be, before a run that would be lost. Raises RequestError where it can't be made or written to."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        tempfile.TemporaryFile(dir=folder).close()
    except OSError as problem:
        reason = problem.strerror or str(problem)
        raise RequestError("unwritable_file", f"{folder}: {reason}", hint="records are kept there: check the path") from None


def write(record: Record, folder: Path) -> Path:
    """Write the record into ``folder`` and return the file."""
    return write_text(dumps(record), folder, name(record))


def write_text(text: str, folder: Path, name: str) -> Path:
    """Write ``text`` to ``folder / name``: a temporary file, then a rename, and nothing is left of what is interrupted."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / name
    handle, temporary = tempfile.mkstemp(dir=folder, suffix=".tmp")
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
        Path(temporary).chmod(0o644)
        Path(temporary).replace(path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise
    return path


def _slug(text: str) -> str:
    return re.sub(r"[^a-z0-9.]+", "-", text.lower()).strip("-")
