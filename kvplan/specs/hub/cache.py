"""The client's cache on disk: what it holds of a model, and what we add, so that the client and we find each other's files.

Layout: huggingface_hub's guide "Understand caching": ``models--ORG--NAME/refs/BRANCH`` holds a commit, and
``snapshots/COMMIT/FILE`` points to ``blobs/HASH``.
"""

import hashlib
import os
import re
from pathlib import Path, PurePosixPath

from kvplan.specs.hub.client import settings

_COMMIT = re.compile(r"[0-9a-f]{40}")


def folder(repo_id: str) -> Path:
    """Where the client keeps a repository."""
    return Path(settings().HF_HUB_CACHE) / f"models--{repo_id.replace('/', '--')}"


def is_commit(name: str) -> bool:
    """Whether it is a commit's full hash."""
    return _COMMIT.fullmatch(name) is not None


def commit_of(repo_id: str, revision: str) -> str | None:
    """The commit that ``revision`` was when the client last saw it; None where it never did."""
    if is_commit(revision):
        return revision
    if not _is_inside(revision):
        return None
    try:
        commit = (folder(repo_id) / "refs" / revision).read_text(encoding="ascii").strip()
    except (OSError, ValueError):
        return None
    return commit if is_commit(commit) else None


def files(repo_id: str, commit: str) -> dict[str, int]:
    """Names and sizes of the files at ``commit`` that lie whole in the cache."""
    top = folder(repo_id) / "snapshots" / commit
    found = {path.relative_to(top).as_posix(): _size(path) for path in sorted(top.rglob("*"))}
    return {name: size for name, size in found.items() if size is not None}


def path_of(repo_id: str, commit: str, name: str) -> Path | None:
    """The file ``name`` at ``commit``, None where the cache does not hold it."""
    path = folder(repo_id) / "snapshots" / commit / name
    return path if _is_inside(name) and _size(path) is not None else None


def read(repo_id: str, commit: str, name: str) -> bytes | None:
    """A small file's bytes, None where the cache does not hold it whole or does not let us."""
    path = path_of(repo_id, commit, name)
    try:
        body = path.read_bytes() if path else None
        blob = path.resolve().name if path else ""
    except OSError:
        return None
    damaged = body is not None and is_commit(blob) and _git_hash(body) != blob  # large files are called by another hash
    return None if damaged else body


def keep(repo_id: str, commit: str, name: str, body: bytes, *, revision: str) -> None:
    """Put a small file into the cache as the client does, and note what commit ``revision`` is.

    A cache that can't be written is no error: the next time is slower.
    """
    if not (is_commit(commit) and _is_inside(name) and _is_inside(revision)):
        return
    top = folder(repo_id)
    blob = top / "blobs" / _git_hash(body)
    pointer = top / "snapshots" / commit / name
    try:
        if not blob.exists() or blob.read_bytes() != body:
            _write(blob, body)
        pointer.parent.mkdir(parents=True, exist_ok=True)
        if not pointer.exists():
            _link(blob, pointer, body)
        if not is_commit(revision):
            _write(top / "refs" / revision, commit.encode())
    except OSError:
        return


def _size(path: Path) -> int | None:
    """Bytes of a file, None for what is none or may not be looked at."""
    try:
        return path.stat().st_size if path.is_file() else None
    except OSError:
        return None


def _git_hash(body: bytes) -> str:
    """What Git, and so the Hub, calls a file of these bytes."""
    return hashlib.sha1(b"blob %d\0" % len(body) + body, usedforsecurity=False).hexdigest()


def _link(blob: Path, pointer: Path, body: bytes) -> None:
    try:
        pointer.symlink_to(os.path.relpath(blob, pointer.parent))
    except OSError:  # a file system without links
        _write(pointer, body)


def _write(path: Path, body: bytes) -> None:
    """Whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f"{path.name}.{os.getpid()}.incomplete")
    part.write_bytes(body)
    part.replace(path)


def _is_inside(name: str) -> bool:
    path = PurePosixPath(name)
    return bool(path.parts) and not path.is_absolute() and ".." not in path.parts
