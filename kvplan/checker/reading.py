"""What a server's command says: read by the engine's own parser where kvplan models it, else by the dialect's table."""

from types import ModuleType
from typing import NamedTuple

from kvplan.checker import table
from kvplan.checker.case import Reading
from kvplan.checker.recognition import dialects, image_name
from kvplan.checker.server import Server, Word
from kvplan.checker.table import Table
from kvplan.checker.variables import left_in
from kvplan.core.engine import Parsed
from kvplan.core.errors import RequestError
from kvplan.estimator import Options, engines

_BUILDS = "dockerfile"
NEWEST = "newest modeled"
_OF_PARSED = {
    **{"max-model-len": "ctx_tokens", "max-num-seqs": "concurrency", "kv-cache-dtype": "kv_dtype", "gpu-memory-utilization": "utilization"},
    **{"tensor-parallel-size": "tp", "pipeline-parallel-size": "pp", "data-parallel-size": "dp"},
    **{"ctx-size": "ctx_tokens", "parallel": "concurrency", "cache-type-k": "kv_dtype"},
    **{"OLLAMA_CONTEXT_LENGTH": "ctx_tokens", "num_ctx": "ctx_tokens"},
    **{"OLLAMA_NUM_PARALLEL": "concurrency", "OLLAMA_KV_CACHE_TYPE": "kv_dtype"},
}
"""Settings as the engines' parsers name them; what stands later wins."""


class Read(NamedTuple):
    """The reading, the engine's own parse and the command that it was made of; ``problem`` says why there is none.

    ``hidden`` are the variables without a value that stand where memory depends on it, ``blocks`` whether an estimate would be about
    something else than what will run.
    """

    reading: Reading
    parsed: Parsed | None
    line: tuple[str, ...]
    hidden: tuple[str, ...]
    blocks: bool
    problem: str | None = None


def read(server: Server, versions: dict[str, str]) -> Read:
    """What ``server`` says. ``versions`` are those that the project's settings give for engines whose image does not tell."""
    dialect = dialects().get(server.engine or "")
    if dialect is None:
        nothing = Reading(server.engine, None, None, server.model, None, None, None, None, None)
        return Read(nothing, None, (), server.unresolved, blocks=True, problem=f"{server.engine}: not modeled")
    settled = table.settled(server.command, dialect.TABLE)
    version, version_from = _version(server, versions)
    line, parsed, problem = _line(server, dialect, version, settled.words)
    said = table.said(settled.words, _known(server), dialect.TABLE)
    if parsed is not None:
        said |= _from_parsed(parsed, said, dialect.TABLE)
        said = said if parsed.model else {field: word for field, word in said.items() if field != "model"}
        version_from = version_from if version else NEWEST
    reading = _reading(server, said, {dialect.TABLE.flags.get(flag, flag) for flag, _ in settled.hidden})
    reading = reading._replace(version=(parsed.version if parsed else None) or version, version_from=version_from)
    names, blocks = _hidden(server, settled.hidden, dialect.TABLE)
    return Read(reading, parsed, line, names, blocks, problem)


def _reading(server: Server, said: dict[str, Word], hidden: set[str]) -> Reading:
    """The fields by their values; what a variable hides has none, and what nobody said of the split is 1."""
    model = server.model or (None if "model" in hidden else said.get("model"))
    return Reading(
        engine=server.engine,
        version=None,
        version_from=None,
        model=None if model is None or left_in(model.text) else model,
        ctx_tokens=table.count(said.get("ctx_tokens")),
        concurrency=table.count(said.get("concurrency")),
        tp=table.count(said.get("tp")) or (None if "tp" in hidden else 1),
        pp=table.count(said.get("pp")) or (None if "pp" in hidden else 1),
        dp=table.count(said.get("dp")) or (None if "dp" in hidden else 1),
        kv_dtype=said["kv_dtype"].text if "kv_dtype" in said else None,
        utilization=table.share(said.get("utilization")),
    )


def _hidden(server: Server, hidden: tuple[tuple[str, tuple[str, ...]], ...], flags: Table) -> tuple[tuple[str, ...], bool]:
    """Names of variables without a value that may bear on memory, and whether one certainly does."""
    bearing = [names for flag, names in hidden if flag in flags.flags or flag in flags.bearing or flag == "model"]
    bearing += [left_in(server.env[variable].text) for variable in flags.env if variable in server.env]
    bearing += [left_in(server.model.text)] if server.model else []
    more = [names for flag, names in hidden if flag == ""]
    more += [left_in(server.image.text)] if server.image else []
    return tuple(dict.fromkeys((*server.unresolved, *(name for names in (*more, *bearing) for name in names)))), any(bearing)


def _line(
    server: Server, dialect: ModuleType, version: str | None, words: tuple[Word, ...]
) -> tuple[tuple[str, ...], Parsed | None, str | None]:
    """The command for an estimate, its parse, and why there is none."""
    if not hasattr(dialect, "line"):
        return (), None, f"{dialect.ENGINE}: its memory is not modeled"
    line: tuple[str, ...] = dialect.line(server._replace(env=_known(server)), words)
    parsed, problem = _parsed(dialect, version, line)
    if parsed is not None and parsed.unknown and _is_fork(server, dialect):
        line = _without(line, parsed)
        parsed, problem = _parsed(dialect, version, line)
    return line, parsed, problem


def _known(server: Server) -> dict[str, Word]:
    """The variables whose value is known."""
    return {name: word for name, word in server.env.items() if not left_in(word.text)}


def _version(server: Server, versions: dict[str, str]) -> tuple[str | None, str | None]:
    """What a file installs, else its image's tag; of a script that starts containers, their tags."""
    dialect = dialects()[server.engine or ""]
    tag = dialect.version(server.image.text) if server.image and not left_in(server.image.text) else None
    if server.pinned is not None and (server.image is None or server.kind == _BUILDS):
        return server.pinned.text, "pip"
    if tag is not None:
        return tag, "image tag"
    said = versions.get(server.engine or "")
    return (said, "config") if said else (None, None)


def _parsed(dialect: ModuleType, version: str | None, line: tuple[str, ...]) -> tuple[Parsed | None, str | None]:
    """The engine's parse; of a version that is not modeled by the newest one's rules, without what these find odd."""
    engine, problem = dialect.ENGINE, None
    try:
        if version and hasattr(dialect, "check_version"):
            dialect.check_version(version)
    except RequestError as refused:
        version, problem = None, refused.message
    try:
        _, resolved, parsed, _ = engines.asked(Options(command=line, engine=f"{engine}@{version}" if version else engine))
    except RequestError as refused:
        return None, refused.message
    if problem:
        return parsed._replace(version=None, findings=(), unknown=()), problem
    return parsed._replace(version=resolved), None


def _is_fork(server: Server, dialect: ModuleType) -> bool:
    """Whether the image is another's than the project's: then flags that the project does not know are that one's own."""
    return server.image is not None and hasattr(dialect, "OWN") and dialect.OWN.fullmatch(image_name(server.image.text)) is None


def _without(line: tuple[str, ...], parsed: Parsed) -> tuple[str, ...]:
    """The line without the flags that the parse didn't know, and their values."""
    kept = list(line)
    for flag in parsed.unknown:
        said = [flag.name, *flag.value.split()] if flag.value else [flag.name]
        at = next((i for i, word in enumerate(kept) if word.partition("=")[0] == flag.name), None)
        if at is not None:
            del kept[at : at + (len(said) if "=" not in kept[at] else 1)]
    return tuple(kept)


def _from_parsed(parsed: Parsed, said: dict[str, Word], flags: Table) -> dict[str, Word]:
    """The engine's reading of the fields, at the places where the words stand."""
    nowhere = Word("", 0)
    fields = {flag.name: flags.flags.get(flag.name) or _OF_PARSED.get(flag.name, "") for flag in parsed.flags}
    found = {
        fields[flag.name]: said.get(fields[flag.name], nowhere)._replace(text=flag.value) for flag in parsed.flags if fields[flag.name]
    }
    if parsed.model is not None and "model" in said:
        found["model"] = said["model"]._replace(text=parsed.model)
    return found
