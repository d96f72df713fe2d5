"""The whole check: files, the servers in them, what each needs, and the findings."""

import os
from collections.abc import Iterator, Mapping, Sequence
from fnmatch import fnmatch
from itertools import islice
from pathlib import Path

from kvplan import _discover
from kvplan.checker import baseline, config_files, starts, suppress, walk
from kvplan.checker.case import Found
from kvplan.checker.config import Config, find
from kvplan.checker.documents import vllm_config
from kvplan.checker.judge import judge
from kvplan.checker.models import Sources
from kvplan.checker.report import Report, in_order
from kvplan.checker.resolve import Given, cases
from kvplan.checker.server import Server, Text, Unreadable
from kvplan.core.errors import RequestError
from kvplan.specs.files import read_text

DOCUMENTS = "kvplan.checker.documents"
MAX_SERVERS = 500  # of one file


def check(paths: str | Sequence[str] = (), config: Config | None = None, *, online: bool = False) -> Report:
    """Every LLM server that the files under ``paths`` (here, where none is named) deploy, and what is wrong with it.

    ``config`` holds the project's settings; None finds them from the first path up. The Hub is asked only with ``online``. Raises
    RequestError for a path that is not there, and for settings that make no sense.
    """
    paths = (paths,) if isinstance(paths, str) else paths
    if config is None:
        config = find(Path(paths[0] if paths else "."))
    return checked(walk.tree(paths, config.exclude), config, online=online)


def checked(tree: walk.Tree, config: Config, *, online: bool = False) -> Report:
    """The report on what is in ``tree``. Raises RequestError for settings that make no sense."""
    variables = _variables(config)
    unreadable: list[Unreadable] = []
    servers: list[Server] = []
    lines: dict[str, Sequence[str]] = {}
    n_files, configs = 0, set[str]()
    for file in walk.texts(tree, variables, unreadable):
        n_files += 1
        for held in _joined(_bounded(file)):
            lines[file.path] = file.text.splitlines()
            if isinstance(held, Unreadable):
                unreadable.append(held)
            else:
                server, path = config_files.joined(held, file)
                configs.update([path] if path else [])
                servers.append(server)
    servers = [one for one in servers if not (one.kind == vllm_config.KIND and one.file in configs)]
    read = cases(servers, given(config, tree, online=online))
    found = _selected(judge(read, tuple(dict.fromkeys(unreadable)), strict=config.strict), config)
    kept, suppressed = suppress.apply(found, lines)
    if config.baseline is not None:
        kept, known = baseline.apply(kept, config.root / config.baseline)
        suppressed = (*suppressed, *known)
    return Report(read, in_order(kept), suppressed, lines, n_files)


def _bounded(file: Text) -> list[Server | Unreadable]:
    """Those of one file, as far as anybody would write them; that there are more is said."""
    found = list(islice(_servers(file), MAX_SERVERS + 1))
    if len(found) > MAX_SERVERS:
        found[MAX_SERVERS:] = [Unreadable(file.path, found[-1].line, f"{MAX_SERVERS} servers are enough for one file")]
    return found


def _servers(file: Text) -> Iterator[Server | Unreadable]:
    """What every format that claims the file finds in it, each server once."""
    if file.path == walk.STDIN:
        named = file._replace(path=walk.name_of(file.text))
        yield from (found._replace(file=file.path) for found in _servers(named))
        return
    seen: set[tuple[int, str | None, tuple[str, ...]]] = set()
    for document in _discover.modules(DOCUMENTS).values():
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


def _selected(found: Sequence[Found], config: Config) -> tuple[Found, ...]:
    """Without the rules that were left out, everywhere or for a file."""

    def kept(one: Found) -> bool:
        out = {
            *config.ignore,
            *(rule for pattern, rules in config.per_file_ignores.items() if _matches(one.file, pattern) for rule in rules),
        }
        return one.rule not in out and (not config.select or one.rule in config.select)

    return tuple(one for one in found if kept(one))


def _matches(file: str, pattern: str) -> bool:
    return fnmatch(file, pattern) or fnmatch(Path(file).name, pattern)
