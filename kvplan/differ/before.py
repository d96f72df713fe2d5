"""The tree as it was before a change: a folder for the time of a check, with the files that may matter and nothing else."""

import contextlib
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from kvplan.checker import walk
from kvplan.checker.config import Config, find
from kvplan.core.errors import KvplanError, RequestError
from kvplan.differ import git

_SETTINGS = ("pyproject.toml",)
_JUDGING = ("select", "ignore", "strict", "per_file_ignores", "exclude", "fail_on")


class Before(NamedTuple):
    """``tree`` is what was named to check, as it was; ``revision`` the commit, None for a folder."""

    tree: walk.Tree
    revision: str | None


@contextlib.contextmanager
def opened(base: str, now: walk.Tree, config: Config) -> Iterator[Before]:
    """The files of ``base``, a revision or else a folder, laid out as those of ``now``.

    Raises RequestError for what is neither, and for what was not there and is not on disk: stdin, paths of several roots.
    """
    if now.piped or not base:
        raise RequestError("usage", f"--diff {base}: files in a tree are compared, not stdin", hint="kvplan check --diff main deploy/")
    also = frozenset((*_SETTINGS, *(PurePosixPath(name).name for name in config.env_file)))
    with tempfile.TemporaryDirectory(prefix="kvplan-") as name:
        folder = Path(name).resolve()
        (folder / ".git").mkdir()  # the root, for all that looks for one
        commit = None
        if _is_folder(base, now):
            _copy(Path(base), folder / _only(now), also)
        else:
            commit = git.revision(base, now.root)
            _extract(commit, now.root, folder, also)
        named = tuple(folder / path.relative_to(now.root) for path in now.paths if path.is_relative_to(now.root))
        yield Before(walk.Tree(folder, tuple(path for path in named if os.path.lexists(path)), now.exclude), commit)


def settings(before: Before, now: walk.Tree, config: Config, settled: Callable[[Config], Config]) -> Config:
    """The settings of then with what the command line says today; today's where there were none. Files are those of then, where they were.

    Which rules count is today's business.
    """
    try:
        then = find(before.tree.paths[0])
    except RequestError:  # broken then, which is no reason not to look at today's
        then = Config()
    said = settled(then) if then.source else config

    def old(path: str) -> str | None:
        place = said.root / path
        for root in (now.root, before.tree.root):
            if place.is_relative_to(root) and os.path.lexists(before.tree.root / place.relative_to(root)):
                return str(before.tree.root / place.relative_to(root))
        return str(place) if os.path.lexists(place) else None

    files = [place for path in said.env_file if (place := old(path))]
    folder = said.model_dir and (old(said.model_dir) or config.model_dir)
    judging = {name: getattr(config, name) for name in _JUDGING}
    return said.model_copy(update={**judging, "env_file": files, "model_dir": folder, "baseline": None})


def _is_folder(base: str, now: walk.Tree) -> bool:
    """Whether ``base`` means a folder: what is both is a revision, unless it is written as a path."""
    try:
        if not Path(base).is_dir() or base.startswith("-"):
            return False
    except OSError:  # longer than names are here
        return False
    if base.startswith((".", "/", "~")) or not (now.root / ".git").exists():
        return True
    try:
        git.revision(base, now.root)
    except KvplanError:
        return True
    return False


def _only(now: walk.Tree) -> Path:
    """Where a folder's files would lie in the tree. Raises RequestError unless one folder is checked."""
    if len(now.paths) != 1 or not now.paths[0].is_dir():
        raise RequestError("usage", "--diff DIR: name the one folder that it is compared with", hint="kvplan check --diff old/ new/")
    return now.paths[0].relative_to(now.root)


def _wanted(path: str, also: frozenset[str]) -> bool:
    """Files that a check may read; of a tree made by hand none that would be written elsewhere."""
    parts = PurePosixPath(path).parts
    inside = not path.startswith("/") and not {"..", *walk.FOLDERS} & set(parts)
    return inside and bool(parts) and (walk.may_hold(parts[-1]) or parts[-1] in also)


def _extract(commit: str, root: Path, folder: Path, also: frozenset[str]) -> None:
    wanted = [blob for blob in git.blobs(commit, root) if _wanted(blob.path, also)]
    wanted.sort(key=lambda blob: blob.is_link)  # links last, so that nothing is written through one
    git.contents(wanted, root, walk.MAX_BYTES, _writer(folder))


def _writer(folder: Path) -> Callable[[git.Blob, bytes], None]:
    def write(blob: git.Blob, content: bytes) -> None:
        place = folder / blob.path
        with contextlib.suppress(OSError, ValueError):  # a name that this system does not take is not checked here either
            place.parent.mkdir(parents=True, exist_ok=True)
            if blob.is_link:
                place.symlink_to(os.fsdecode(content))
            else:
                place.write_bytes(content)

    return write


def _copy(source: Path, target: Path, also: frozenset[str]) -> None:
    """The files of a folder, and the links that stay in it as what they lead to."""
    inside = source.resolve()
    for here, names, files in os.walk(source):
        names[:] = [name for name in names if name not in walk.FOLDERS]
        for name in files:
            file = Path(here, name)
            place = target / file.relative_to(source)
            with contextlib.suppress(OSError, RuntimeError):
                if (
                    _wanted(name, also)
                    and file.resolve().is_relative_to(inside)
                    and file.is_file()
                    and file.stat().st_size <= walk.MAX_BYTES
                ):
                    place.parent.mkdir(parents=True, exist_ok=True)
                    shutil.copyfile(file, place)
