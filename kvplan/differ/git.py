"""A revision of a repository, read by git's plumbing: nothing is checked out, fetched or run.

Source: git 2.39 documentation: git-rev-parse, git-ls-tree, git-cat-file (--batch), git-merge-base, protocol.allow.
"""

import os
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import IO, NamedTuple

from kvplan.core.errors import KvplanError, RequestError, UnavailableError

_QUIET = ("-c", "protocol.allow=never")  # what a partial clone has not is not fetched either
_SHALLOW = "fetch the history: fetch-depth: 0 of actions/checkout, GIT_DEPTH: 0 in GitLab, `git fetch --unshallow` elsewhere"
FILE, LINK = b"100", b"120000"


class Blob(NamedTuple):
    """A file of a revision: its path from the root, and whether it is a link."""

    path: str
    id: bytes
    is_link: bool


def revision(base: str, root: Path) -> str:
    """The commit that ``base`` names, ``A...`` the commit where HEAD left A. Raises KvplanError where there is none."""
    if not (root / ".git").exists():
        raise RequestError("no_repository", f"--diff {base}: {root} is no git repository", hint="--diff DIR takes a folder, too")
    name = base.removesuffix("...")
    commit = _asked(root, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{name}^{{commit}}")
    if commit is None or commit.startswith("^"):  # ^A is all that A has not
        raise _unknown(base, name, root)
    if name == base:
        return commit
    left = _asked(root, "merge-base", commit, "HEAD")
    if left is None:
        hint = _SHALLOW if _is_shallow(root) else f"--diff {name} takes it as it is"
        raise RequestError("unknown_revision", f"--diff {base}: HEAD and {name} have no commit in common here", hint=hint)
    return left


def _unknown(base: str, name: str, root: Path) -> KvplanError:
    trouble = _run(root, "rev-parse", "--git-dir")
    if trouble.returncode:
        return UnavailableError("git", f"--diff {base}: git: {_said(trouble.stderr)}", hint="git must be able to read the repository")
    message = f"--diff {base}: there is no revision '{name}' here"
    if _is_shallow(root):
        return RequestError("unknown_revision", f"{message}: the clone is shallow", hint=_SHALLOW)
    remote = _asked(root, "rev-parse", "--verify", "--quiet", "--end-of-options", f"refs/remotes/origin/{name}")
    hint = f"did you mean 'origin/{name}'?" if remote else "a branch, a tag or a commit; or a folder, as ./DIR"
    return RequestError("unknown_revision", message, hint=hint)


def _is_shallow(root: Path) -> bool:
    return _asked(root, "rev-parse", "--is-shallow-repository") == "true"


def blobs(commit: str, root: Path) -> Iterator[Blob]:
    """Every file of the commit. Raises UnavailableError where git can't say."""
    listed = _run(root, "ls-tree", "-r", "-z", "--full-tree", commit)
    if listed.returncode:
        raise UnavailableError("git", f"git ls-tree: {_said(listed.stderr)}", hint="git must be able to read the repository")
    for row in listed.stdout.split(b"\0"):
        about, tab, path = row.partition(b"\t")
        if tab and about.startswith((FILE, LINK)):
            yield Blob(os.fsdecode(path), about.split()[2], about.startswith(LINK))


def contents(wanted: Sequence[Blob], root: Path, most: int, write: Callable[[Blob, bytes], None]) -> None:
    """Each file's bytes to ``write``, without those above ``most``. Raises UnavailableError where git has not all of them."""
    with tempfile.TemporaryFile() as asked:
        asked.write(b"".join(blob.id + b"\n" for blob in wanted))
        asked.seek(0)
        with subprocess.Popen(
            _command(root, "cat-file", "--batch"), stdin=asked, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=_environment()
        ) as git:
            assert git.stdout is not None
            for blob in wanted:
                content = _one(git.stdout, most)
                if content is None:
                    git.kill()
                    raise UnavailableError("git", f"{blob.path}: git has not this file's content here", hint=_SHALLOW)
                if len(content) <= most:
                    write(blob, content)


def _one(stream: IO[bytes], most: int) -> bytes | None:
    """The next answer, cut off above ``most``; None for what git has not."""
    head = stream.readline().split()
    if len(head) != 3:
        return None
    size = int(head[2])
    content = stream.read(min(size, most + 1))
    left = size - len(content) + 1  # the newline behind it
    while left > 0:
        left -= len(stream.read(min(left, most))) or left
    return content


def _asked(root: Path, *words: str) -> str | None:
    """One line of an answer; None where git says no."""
    done = _run(root, *words)
    return os.fsdecode(done.stdout).strip() if done.returncode == 0 and done.stdout.strip() else None


def _run(root: Path, *words: str) -> subprocess.CompletedProcess[bytes]:
    try:
        return subprocess.run(_command(root, *words), stdin=subprocess.DEVNULL, capture_output=True, check=False, env=_environment())
    except ValueError:  # a NUL, which is in no name
        return subprocess.CompletedProcess(words, returncode=128, stdout=b"", stderr=b"")
    except OSError as problem:
        raise UnavailableError("no_git", f"git: {problem.strerror}", hint="install git, or compare with a folder: --diff DIR") from None


def _command(root: Path, *words: str) -> list[str]:
    return ["git", "-C", str(root), *_QUIET, *words]


def _environment() -> dict[str, str]:
    return {**os.environ, "GIT_NO_LAZY_FETCH": "1", "GIT_TERMINAL_PROMPT": "0", "LC_ALL": "C"}


def _said(raw: bytes) -> str:
    lines = os.fsdecode(raw).strip().splitlines()
    return lines[0].removeprefix("fatal: ") if lines else "it gives no reason"
