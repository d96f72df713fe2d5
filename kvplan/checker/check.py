"""The whole check: files, the servers in them, what each needs, and the findings."""

from collections.abc import Sequence
from fnmatch import fnmatch
from itertools import chain
from pathlib import Path

from kvplan.checker import baseline, processes, suppress, walk
from kvplan.checker.case import Found
from kvplan.checker.config import Config, find
from kvplan.checker.documents import vllm_config
from kvplan.checker.judge import judge
from kvplan.checker.report import Report, in_order


def check(paths: str | Sequence[str] = (), config: Config | None = None, *, online: bool = False, jobs: int = 1) -> Report:
    """Every LLM server that the files under ``paths`` (here, where none is named) deploy, and what is wrong with it.

    ``config`` holds the project's settings; None finds them from the first path up. The Hub is asked only with ``online``. At most
    ``jobs`` processes share the files, where that pays: the answer is the same. Raises RequestError for a path that is not there, and for
    settings that make no sense.
    """
    paths = (paths,) if isinstance(paths, str) else paths
    if config is None:
        config = find(Path(paths[0] if paths else "."))
    return checked(walk.tree(paths, config.exclude), config, online=online, jobs=jobs)


def checked(tree: walk.Tree, config: Config, *, online: bool = False, jobs: int = 1) -> Report:
    """The report on what is in ``tree``. Raises RequestError for settings that make no sense."""
    parts = list(processes.read(tuple(walk.places(tree)), processes.Job(tree, config, online), jobs))
    configs = frozenset(chain.from_iterable(part.configs for part in parts))
    lines = {file: lines for part in parts for file, lines in part.lines.items()}
    unreadable = tuple(dict.fromkeys(chain.from_iterable(part.unreadable for part in parts)))
    servers = [case for part in parts for case in part.cases if not (case.server.kind == vllm_config.KIND and case.server.file in configs)]
    found = _selected(judge(servers, unreadable, strict=config.strict), config)
    kept, suppressed = suppress.apply(found, lines)
    if config.baseline is not None:
        kept, known = baseline.apply(kept, config.root / config.baseline)
        suppressed = (*suppressed, *known)
    return Report(servers, in_order(kept), suppressed, lines, sum(part.n_files for part in parts))


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
