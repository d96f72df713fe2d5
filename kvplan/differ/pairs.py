"""Which server before is which server now: by file, kind and name, through renames of files and of servers."""

from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import NamedTuple

from kvplan.checker.case import Case

Lines = Mapping[str, Sequence[str]]
_Key = Callable[[Case], Hashable]
_ALIKE = 0.5  # of the lines, which is where git begins to call it a rename


class Pairs(NamedTuple):
    """Servers that are the same one before and now, those that are gone and those that are new; files under their new names."""

    same: Sequence[tuple[Case, Case]]
    gone: Sequence[Case]
    new: Sequence[Case]
    renamed: Mapping[str, str]


def paired(before: Sequence[Case], now: Sequence[Case], lines: tuple[Lines, Lines]) -> Pairs:
    """Each server once; ``lines`` are the texts of the files before and now that hold any."""
    same: list[tuple[Case, Case]] = []
    gone, new = list(before), list(now)
    for key in (_in_file(written), _in_file(_model), _in_file(_nothing), _unnamed()):
        gone, new = _take(gone, new, (key, key), same)
    renamed = _renames({case.server.file for case in gone}, {case.server.file for case in new}, lines)
    for moved, key in ((_in_file(_model, renamed), _in_file(_model)), (_in_file(_nothing, renamed), _in_file(_nothing))):
        gone, new = _take(gone, new, (moved, key), same)
    gone, new = _take(gone, new, (_unnamed(renamed), _unnamed()), same)
    _take(_single(gone), _single(new), (_name, _name), same)
    taken = {id(case) for pair in same for case in pair}
    return Pairs(same, [case for case in gone if id(case) not in taken], [case for case in new if id(case) not in taken], renamed)


def written(case: Case) -> Hashable:
    """All that the files say of a server, without where they say it."""
    server = case.server
    words = tuple(word.text for word in server.command)
    env = tuple(sorted((name, word.text) for name, word in server.env.items()))
    told = tuple(
        word.text if word else None for word in (server.image, server.model, server.host_memory, server.shared_memory, server.pinned)
    )
    cards = (server.gpus.n_gpus, tuple(word.text for word in server.gpus.names), server.gpus.memory_mib, server.replicas)
    return (case.reading.engine, words, env, told, cards, server.unresolved)


def _model(case: Case) -> Hashable:
    model = case.reading.model
    return (case.reading.engine, model.text if model else None)


def _nothing(_: Case) -> Hashable:
    return None


def _in_file(of_case: _Key, files: Mapping[str, str] = {}) -> _Key:
    """The server's file, kind and name, and something of it."""
    return lambda case: (files.get(case.server.file, case.server.file), case.server.kind, case.server.name, of_case(case))


def _unnamed(files: Mapping[str, str] = {}) -> _Key:
    """Of servers under another name in the same file: the same model on the same engine."""
    return lambda case: (files.get(case.server.file, case.server.file), case.server.kind, _model(case))


def _name(case: Case) -> Hashable:
    return (case.server.kind, case.server.name, case.reading.engine)


def _single(cases: Sequence[Case]) -> list[Case]:
    """Those whose name no other has."""
    counts = Counter(map(_name, cases))
    return [case for case in cases if case.server.name is not None and counts[_name(case)] == 1]


def _take(
    gone: Sequence[Case], new: Sequence[Case], keys: tuple[_Key, _Key], same: list[tuple[Case, Case]]
) -> tuple[list[Case], list[Case]]:
    """What is left once those with equal keys are paired, in their order, into ``same``."""
    waiting: dict[Hashable, list[Case]] = defaultdict(list)
    for case in gone:
        waiting[keys[0](case)].append(case)
    left = []
    for case in new:
        if waiting.get(found := keys[1](case)):
            same.append((waiting[found].pop(0), case))
        else:
            left.append(case)
    kept = {id(case) for cases in waiting.values() for case in cases}
    return [case for case in gone if id(case) in kept], left


def _renames(gone: set[str], new: set[str], lines: tuple[Lines, Lines]) -> dict[str, str]:
    """Files that are no more and those that most of their lines are in now."""
    old_files = sorted(gone - lines[1].keys())
    new_files = sorted(new - lines[0].keys())
    likeness = [(_likeness(lines[0].get(old, ()), lines[1].get(other, ())), old, other) for old in old_files for other in new_files]
    found: dict[str, str] = {}
    for alike, old, other in sorted(likeness, key=lambda one: (-one[0], one[1:])):
        if alike >= _ALIKE and old not in found and other not in found.values():
            found[old] = other
    return found


def _likeness(old: Sequence[str], new: Sequence[str]) -> float:
    """The share of the longer text's lines that both have."""
    common = (Counter(old) & Counter(new)).total()
    return common / max(len(old), len(new), 1)
