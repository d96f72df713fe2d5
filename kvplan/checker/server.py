"""What deployment files hold: a server as it is written, before anything is looked up."""

from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple


class Word(NamedTuple):
    """A piece of a file's text and where it begins; lines and columns count from 1."""

    text: str
    line: int
    column: int = 1


class Gpus(NamedTuple):
    """The accelerators that a file asks for.

    ``n_gpus`` is per replica; None where nothing is said, 0 where the file says that there is none. ``names`` are labels, products,
    instance types or accelerator fields as written; of several, each one must do (``alternatives`` of SkyPilot, GKE and the like).
    """

    n_gpus: int | None = None
    names: tuple[Word, ...] = ()
    memory_mib: int | None = None


class Server(NamedTuple):
    """One server that a document starts.

    ``command`` holds the words of entrypoint, command and arguments, as the shell or the engine gets them: one setting a word or two,
    variables replaced where their value is known. Formats with settings of their own (Helm values, ``engine_kwargs``) say them as the
    engine's flags, each with the line that it stands on. ``engine`` is set where the format itself names it, ``model`` where it stands
    beside the command. ``unresolved`` are names of variables that nothing gives a value. ``co_located`` names what shares its GPUs.
    ``pinned`` is the engine's version where the file installs one.
    """

    kind: str
    name: str | None
    file: str
    line: int
    command: tuple[Word, ...] = ()
    env: Mapping[str, Word] = {}
    image: Word | None = None
    engine: str | None = None
    model: Word | None = None
    gpus: Gpus = Gpus()
    replicas: int = 1
    host_memory: Word | None = None
    shared_memory: Word | None = None
    co_located: str | None = None
    unresolved: tuple[str, ...] = ()
    pinned: Word | None = None


class Unreadable(NamedTuple):
    """A document that could not be read, and why; the others of its file are."""

    file: str
    line: int
    reason: str


def _none(_: str) -> Iterable["Text"]:
    return ()


def _nowhere(_: str) -> "Text | None":
    return None


class Text(NamedTuple):
    """A file as it is given to the document formats: its path relative to the root of the check, and its text.

    ``others`` gives the other files of its folder and of the check that hold a text, the nearest first: some settings stand apart from
    the server that they are for (KServe's runtimes). ``at`` gives the file at a path that this one names, seen from its folder or from the
    root, and never one out of the tree.
    """

    path: str
    text: str
    variables: Mapping[str, str] = {}
    others: Callable[[str], Iterable["Text"]] = _none
    at: Callable[[str], "Text | None"] = _nowhere
