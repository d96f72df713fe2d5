"""Small git repositories in which a change was made."""

import os
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest

needs_git = pytest.mark.skipif(shutil.which("git") is None, reason="needs git")
_WHO = {
    **dict.fromkeys(("GIT_AUTHOR_NAME", "GIT_COMMITTER_NAME"), "kvplan"),
    **dict.fromkeys(("GIT_AUTHOR_EMAIL", "GIT_COMMITTER_EMAIL"), "kvplan@example.com"),
    **dict.fromkeys(("GIT_AUTHOR_DATE", "GIT_COMMITTER_DATE"), "2026-01-01T00:00:00Z"),  # so that commits have the same names everywhere
}


def git(folder: Path, *words: str) -> str:
    env = {**os.environ, **_WHO, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull}
    return subprocess.run(["git", "-C", str(folder), *words], check=True, capture_output=True, text=True, env=env).stdout.strip()


def write(folder: Path, files: Mapping[str, str | None]) -> None:
    """The files as they are given; None deletes one."""
    for name, text in files.items():
        if text is None:
            (folder / name).unlink()
        else:
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text(text, encoding="utf-8")


def repository(folder: Path, files: Mapping[str, str]) -> Path:
    """A repository with one commit on main that holds ``files``."""
    folder.mkdir(exist_ok=True)
    git(folder, "init", "-q", "-b", "main")
    write(folder, files)
    commit(folder)
    return folder


def commit(folder: Path) -> str:
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "-m", "change", "--allow-empty")
    return git(folder, "rev-parse", "HEAD")
