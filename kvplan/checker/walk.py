"""The files of a check, in order: no links out of the tree, nothing huge, nothing binary, no folders of other people's code."""

import contextlib
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from fnmatch import fnmatch
from pathlib import Path
from typing import NamedTuple

from kvplan.checker import piped
from kvplan.checker.server import Text, Unreadable
from kvplan.core.errors import RequestError

MAX_BYTES = 2 * 2**20
FOLDERS = frozenset(
    (
        *(".git", ".hg", ".svn", "node_modules", ".venv", "venv", "__pycache__", ".tox", ".nox", ".mypy_cache", ".ruff_cache"),
        *(".pytest_cache", "site-packages", ".terraform", ".idea", ".cache", "bower_components", ".eggs"),
    )
)
_EXTENSIONS = frozenset(
    (
        *("", ".yaml", ".yml", ".sh", ".bash", ".zsh", ".ksh", ".command", ".sbatch", ".slurm", ".bat", ".cmd", ".ps1", ".fish"),
        *(".profile", ".ini", ".cfg", ".conf", ".preset", ".env", ".service", ".container", ".dockerfile", ".containerfile"),
        *(".tpl", ".tmpl", ".template", ".j2", ".py", ".json"),
    )
)
_NAMES = ("dockerfile", "containerfile", "modelfile", ".env", "docker-compose", "compose")


_Holding = dict[tuple[Path | None, str], Sequence[Path]]


class Tree(NamedTuple):
    """What was named to check; ``root`` is what paths in the answer are relative to. ``piped``: what is on stdin, too."""

    root: Path
    paths: tuple[Path, ...]
    exclude: tuple[str, ...] = ()
    piped: bool = False


def tree(paths: Sequence[str], exclude: Iterable[str] = ()) -> Tree:
    """The paths and the root of their repository, without one the current folder, or what holds them; ``-`` is stdin.

    Raises RequestError for a path that does not exist.
    """
    named = [path for path in paths or (".",) if path != "-"]
    for path in named:
        if not os.path.lexists(path):
            raise RequestError("no_such_path", f"{path or repr(path)}: there is no such file or folder", hint="kvplan check [PATH…]")
    found = [Path(path) for path in named]
    whole = [path.absolute() for path in found or (Path(),)]
    first = whole[0] if whole[0].is_dir() else whole[0].parent
    root = next((folder for folder in (first, *first.parents) if (folder / ".git").exists()), None)
    if root is None or not all(path.is_relative_to(root) for path in whole):
        here = Path.cwd()
        common = Path(os.path.commonpath(whole))
        root = here if common.is_relative_to(here) else common if common.is_dir() else common.parent
    return Tree(root, tuple(whole) if found else (), tuple(exclude), "-" in paths)


class Place(NamedTuple):
    """A file to look at, None for stdin, and whether somebody named it: then its extension does not matter."""

    file: Path | None
    is_named: bool


def places(of: Tree) -> Iterator[Place]:
    """Every file that may hold a server, once, sorted by path."""
    seen: set[Path] = set()
    if of.piped:
        yield Place(None, is_named=True)
    for path in sorted(of.paths):
        for place in _files(path, of):
            if place.file not in seen and place.file:
                seen.add(place.file)
                yield place


class Reader:
    """Reads the texts of a tree, and what they ask for beside them, once."""

    def __init__(self, of: Tree, variables: Mapping[str, str]) -> None:
        """``variables`` are those of the whole check."""
        self._of = of
        self._variables = variables
        self._holding: _Holding = {}

    def text(self, place: Place, skipped: list[Unreadable]) -> Text | None:
        """The text; None for what can't be read, which joins ``skipped`` where it was named."""
        if place.file is None:
            return Text(piped.NAME, piped.text(MAX_BYTES), self._variables)
        of, variables, file = self._of, self._variables, place.file
        text = _read(file, of, named=place.is_named, skipped=skipped)
        if text is None:
            return None
        return Text(_relative(file, of.root), text, variables, _neighbors(file, of, variables, self._holding), _named(file, of, variables))


def _files(path: Path, of: Tree) -> Iterator[Place]:
    if not path.is_dir():
        yield Place(path, is_named=True)
        return
    for folder, names, files in os.walk(path):
        names[:] = sorted(name for name in names if name not in FOLDERS and not Path(folder, name).is_symlink())
        for name in sorted(files):
            if may_hold(name) and not _is_excluded(file := Path(folder, name), of):
                yield Place(file, is_named=False)


def may_hold(name: str) -> bool:
    """Whether a file of this name may hold a server, or what one reads."""
    low = name.lower()
    return os.path.splitext(low)[1] in _EXTENSIONS or low.startswith(_NAMES)  # noqa: PTH122  # Path is slow for thousands


def _is_excluded(file: Path, of: Tree) -> bool:
    path = _relative(file, of.root) if of.exclude else ""
    return any(fnmatch(path, pattern) or fnmatch(path, f"{pattern.rstrip('/')}/*") for pattern in of.exclude)


def _read(file: Path, of: Tree, *, named: bool, skipped: list[Unreadable]) -> str | None:
    """The text; None for links out of the tree, what is huge or binary, and what is no file."""
    where = _relative(file, of.root)
    try:
        if file.is_symlink() and not file.resolve().is_relative_to(of.root.resolve()):
            skipped.append(Unreadable(where, 1, "it links out of the tree"))
            return None
        if not file.is_file():
            return None
        if file.stat().st_size > MAX_BYTES:
            if named:
                skipped.append(Unreadable(where, 1, f"it is larger than {MAX_BYTES // 2**20} MiB"))
            return None
        raw = file.read_bytes()
    except (OSError, RuntimeError) as problem:
        skipped.append(Unreadable(where, 1, str(getattr(problem, "strerror", None) or problem)))
        return None
    if b"\0" in raw[:8192]:
        if named:
            skipped.append(Unreadable(where, 1, "it is binary"))
        return None
    return raw.decode("utf-8-sig", errors="replace")


def _neighbors(file: Path, of: Tree, variables: Mapping[str, str], holding: _Holding) -> Callable[[str], Iterable[Text]]:
    def others(wanted: str) -> Iterator[Text]:
        """The folder's own files first, then those of the check."""
        near = (path for path in sorted(file.parent.iterdir()) if path.is_file() and may_hold(path.name))
        far = (place.file for start in of.paths if start.is_dir() for place in _files(start, of) if place.file)
        seen = {file}
        for path in (*_holders(wanted, file.parent, near, of, holding), *_holders(wanted, None, far, of, holding)):
            if path not in seen:
                seen.add(path)
                text = _read(path, of, named=False, skipped=[])
                if text is not None:
                    yield Text(_relative(path, of.root), text, variables)

    return others


def _holders(wanted: str, folder: Path | None, among: Iterable[Path], of: Tree, holding: _Holding) -> Sequence[Path]:
    """Which files of a folder, or of the check, hold a text: looked for once, however many ask."""
    if (folder, wanted) not in holding:
        texts = ((path, _read(path, of, named=False, skipped=[])) for path in among)
        holding[folder, wanted] = [path for path, text in texts if text is not None and wanted in text]
    return holding[folder, wanted]


def _named(file: Path, of: Tree, variables: Mapping[str, str]) -> Callable[[str], Text | None]:
    def at(path: str) -> Text | None:
        """The file at that path, from the folder or the root; None for what is none, can't be read, or lies out of the tree."""
        for base in (file.parent, of.root):
            with contextlib.suppress(OSError, RuntimeError, ValueError):
                found = (base / path).resolve()
                text = _read(found, of, named=False, skipped=[]) if found.is_relative_to(of.root.resolve()) else None
                if text is not None:
                    return Text(_relative(found, of.root.resolve()), text, variables)
        return None

    return at


def _relative(file: Path, root: Path) -> str:
    """The path as every answer writes it: from the root, with forward slashes."""
    return file.relative_to(root).as_posix() if file.is_relative_to(root) else file.as_posix()
