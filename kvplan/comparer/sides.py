"""What is compared: every model or command with every engine, card and type that is listed."""

from collections.abc import Iterator, Sequence
from itertools import product
from typing import NamedTuple

from kvplan.core.errors import RequestError
from kvplan.estimator import Options

LISTED = ("engine", "gpu", "dtype", "kv_dtype", "ctx", "batch", "tp")
"""Options in which commas make sides."""
MOST = 8
END = "--"


class Side(NamedTuple):
    """One request, and what tells it from the others."""

    label: str
    options: Options


def sides(options: Options, models: Sequence[str], after: Sequence[str]) -> tuple[Side, ...]:
    """Every side: models in their order, else commands parted by ``--``, times each list. Raises RequestError for too many."""
    commands = tuple(_parted(after))
    if models and commands:
        raise RequestError("contradiction", "models and commands can't be mixed", hint="name the models, or paste the commands after --")
    subjects = [options._replace(model=model) for model in models] or [
        options._replace(model=None, command=command) for command in commands
    ]
    lists = {name: _listed(value, name) for name in LISTED if (value := getattr(options, name)) is not None}
    found = [_chosen(subject, dict(zip(lists, chosen, strict=True))) for subject in subjects for chosen in product(*lists.values())]
    if len(found) > MOST:
        raise RequestError("usage", f"{len(found)} sides are more than anybody reads", hint=f"up to {MOST}; kvplan estimate answers each")
    return tuple(Side(label, one) for label, one in zip(_labels(found, subjects), found, strict=True))


def _chosen(subject: Options, chosen: dict[str, str]) -> Options:
    said = {name: value for name, value in subject._asdict().items() if name != "command"} | chosen
    return Options(command=subject.command, **said)


def _parted(after: Sequence[str]) -> Iterator[tuple[str, ...]]:
    """Commands with ``--`` between them."""
    command: list[str] = []
    for word in (*after, END):
        if word == END and command:
            yield tuple(command)
            command = []
        elif word != END:
            command.append(word)


def _listed(value: str, name: str) -> tuple[str, ...]:
    parts = tuple(part.strip() for part in value.split(","))
    if "" in parts:
        flag = f"--{name.replace('_', '-')}"
        raise RequestError("usage", f"{flag} {value}: an empty place in the list", hint=f"{flag} A,B")
    return parts


def _labels(found: Sequence[Options], subjects: Sequence[Options]) -> list[str]:
    """What differs among the sides; of commands, which have no name, their number and their model."""
    differing = [name for name in LISTED if len({getattr(one, name) for one in found}) > 1]
    labels = []
    for one in found:
        parts = [str(getattr(one, name)) for name in differing]
        if len(subjects) > 1:
            parts.insert(0, one.model or f"command {1 + [subject.command for subject in subjects].index(one.command)}")
        labels.append(" · ".join(parts) or one.model or " ".join(one.command))
    return labels
