"""From files to cases: the servers in each, tried on every accelerator that they may get. Any files may be read apart from the others."""

import os
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from itertools import islice
from types import ModuleType
from typing import NamedTuple

from kvplan import _discover
from kvplan.checker import config_files, piped, starts, walk
from kvplan.checker.case import Case
from kvplan.checker.config import Config
from kvplan.checker.models import Sources
from kvplan.checker.resolve import Given, cases, remembering
from kvplan.checker.server import Server, Text, Unreadable
from kvplan.core.errors import RequestError
from kvplan.specs.files import read_text

DOCUMENTS = "kvplan.checker.documents"
MAX_SERVERS = 500  # of one file


class Part(NamedTuple):
    """What some files hold. ``lines`` are those of files with servers, ``configs`` the files of settings that a server names."""

    cases: Sequence[Case]
    unreadable: Sequence[Unreadable]
    lines: Mapping[str, Sequence[str]]
    configs: frozenset[str]
    n_files: int


class Reader:
    """Reads any of a tree's files; what is asked twice is estimated once."""

    def __init__(self, tree: walk.Tree, config: Config, *, online: bool) -> None:
        """Raises RequestError for settings that make no sense."""
        self._texts = walk.Reader(tree, _variables(config))
        self._given = remembering(given(config, tree, online=online))

    def read(self, places: Sequence[walk.Place]) -> Part:
        """What these files hold, in their order. Raises RequestError for a GPU of the settings that there is none."""
        unreadable: list[Unreadable] = []
        servers: list[Server] = []
        lines: dict[str, Sequence[str]] = {}
        n_files, configs = 0, set[str]()
        for place in places:
            file = self._texts.text(place, unreadable)
            if file is None:
                continue
            n_files += 1
            for held in _joined(_bounded(file)):
                lines[file.path] = file.text.splitlines()
                if isinstance(held, Unreadable):
                    unreadable.append(held)
                else:
                    server, path = config_files.joined(held, file)
                    configs.update([path] if path else [])
                    servers.append(server)
        return Part(cases(servers, self._given), unreadable, lines, frozenset(configs), n_files)


def _bounded(file: Text) -> list[Server | Unreadable]:
    """Those of one file, as far as anybody would write them; that there are more is said."""
    found = list(islice(_servers(file), MAX_SERVERS + 1))
    if len(found) > MAX_SERVERS:
        found[MAX_SERVERS:] = [Unreadable(file.path, found[-1].line, f"{MAX_SERVERS} servers are enough for one file")]
    return found


@cache
def _documents() -> tuple[ModuleType, ...]:
    return tuple(_discover.modules(DOCUMENTS).values())


def _servers(file: Text) -> Iterator[Server | Unreadable]:
    """What every format that claims the file finds in it, each server once."""
    if file.path == piped.NAME:
        named = file._replace(path=piped.name_of(file.text))
        yield from (found._replace(file=file.path) for found in _servers(named))
        return
    seen: set[tuple[int, str | None, tuple[str, ...]]] = set()
    for document in _documents():
        if not document.claims(file):
            continue
        for written in document.servers(file):
            if isinstance(written, Unreadable):
                yield written
                continue
            for server in starts.servers(written, file.variables):
                key = (server.line, server.name, tuple(word.text for word in server.command))
                if key not in seen:
                    seen.add(key)
                    yield server


def _joined(found: list[Server | Unreadable]) -> list[Server | Unreadable]:
    """Without ``ollama serve`` where the same file runs a model on it: that is one server, with the variables of both."""
    servers = [one for one in found if isinstance(one, Server) and one.engine == "ollama"]
    bare = [one for one in servers if one.model is None and not one.command]
    if not bare or len(bare) == len(servers):
        return found
    env = {name: word for one in bare for name, word in one.env.items()}
    kept = [one for one in found if one not in bare]
    return [one._replace(env={**env, **one.env}) if isinstance(one, Server) and one.engine == "ollama" else one for one in kept]


def _variables(config: Config) -> Mapping[str, str]:
    """Those of --env-file, then those of --set. Raises RequestError for a line that is no NAME=VALUE."""
    found: dict[str, str] = {}
    for name in config.env_file:
        path = config.root / name
        for number, raw in enumerate(read_text(path).splitlines(), 1):
            line = raw.strip().removeprefix("export ").strip()
            key, equals, value = line.partition("=")
            if line and not line.startswith("#"):
                if not equals:
                    raise RequestError("bad_env_file", f"{path}:{number}: expected NAME=VALUE, found '{line}'", hint="MODEL=Qwen/Qwen3-8B")
                found[key.strip()] = value.strip().strip("\"'")
    return {**found, **{name: str(value) for name, value in config.set.items()}}


def given(config: Config, tree: walk.Tree, *, online: bool = False) -> Given:
    """What ``config`` says beside the files of ``tree``. Raises RequestError for a folder of models that is none."""
    folder = None if config.model_dir is None else config.root / config.model_dir
    if folder is not None and not folder.is_dir():
        raise RequestError("no_such_path", f"--model-dir {folder}: there is no such folder", hint="it holds <org>/<name>/config.json")
    named = {name: _from_root(ref, config) for name, ref in config.models.items()}
    sources = Sources(named, folder, tree.root, online)
    return Given(sources, config.gpu, config.label_map, config.engine_versions, config.typical())


def _from_root(ref: str, config: Config) -> str:
    """A path in the settings is relative to their folder; anything else is a name."""
    path = config.root / ref
    return str(path) if os.path.lexists(path) else ref
