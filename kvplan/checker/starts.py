"""Which LLM servers a written command starts: behind shells, wrappers and ``docker run``, by program, by image, or by flags alone."""

import re
from collections.abc import Iterator, Mapping

from kvplan.checker import containers, scripts
from kvplan.checker.program import base
from kvplan.checker.recognition import by_flags, by_image_of, dialects, without_gpu
from kvplan.checker.server import Server, Word
from kvplan.checker.shell_wrapping import inner_script
from kvplan.checker.table import flag_name

_TALKS = frozenset(
    (
        *("echo", "printf", "grep", "egrep", "pgrep", "pkill", "kill", "killall", "ps", "pip", "pip3"),
        *("which", "cat", "tee", "logger", "curl", "log", "info", "warn", "error", "print", "apt"),
        *("apt-get", "brew", "git", "cd", "mkdir", "cp", "mv", "rm", "ls", "test", "["),
        *("[[", "sed", "awk", "wget", "source", ".", "read", "trap", "alias", "make", "cmake"),
        *("hf", "huggingface-cli", "chmod", "chown", "ln", "type", "stat", "tar", "unzip", "man"),
    )
)
"""Programs that start nothing, whatever they are told about."""
_PREFIXES = ("sudo", "env", "exec", "nohup", "time", "command", "setsid", "start", "call")


def servers(written: Server, known: Mapping[str, str]) -> Iterator[Server]:
    """The LLM servers that a document's entry starts, each with its engine and the words behind the program's name.

    An entry whose engine the document names is one whatever its words are. Of alternatives (branches, ``exec``) that start the same
    model, the first stands for all.
    """
    if written.engine is not None:
        yield _named(written)
        return
    inner = inner_script(written.command)
    runs = (
        [scripts.Run(written.command, written.env)]
        if inner is None
        else scripts.commands(inner[0], known, arguments=inner[1], env=written.env)
    )
    seen: set[tuple[str | None, str]] = set()
    for run in runs:
        found = of_run(written, run, by_image=inner is None)
        if found is None:
            continue
        key = (found.engine, "exec" if run.words[:1] and run.words[0].text == "exec" else " ".join(word.text for word in found.command))
        if key not in seen:
            seen.add(key)
            yield found._replace(co_located=None) if run.sometimes else found


def of_run(written: Server, run: scripts.Run, *, by_image: bool = True) -> Server | None:
    """The server that one command starts, None where it starts none.

    ``by_image``: the command is what the image gets; of a script's commands, each starts what it names.
    """
    words, env = _stripped(run)
    if not words and written.image is None:
        return None
    if words and base(words[0].text) in _TALKS:
        return None
    entry = written._replace(command=words, env=env)
    container = containers.read(words)
    if container is not None:
        by_image = True
        merged = {**{name: value for name, value in env.items() if name in container.env}, **container.env}
        entry = written._replace(
            command=container.words,
            env=merged,
            image=container.image,
            name=container.name or written.name,
            gpus=container.gpus,
            shared_memory=container.shared_memory,
            host_memory=container.host_memory,
        )
        inner = inner_script(entry.command)
        if inner is not None:
            return next(servers(entry, {}), None)
    return _recognized(entry, words[0].line if words else written.line, by_image=by_image)


def _recognized(entry: Server, line: int, *, by_image: bool) -> Server | None:
    texts = [word.text for word in entry.command]
    for engine, dialect in dialects().items():
        for i in range(len(texts)):
            n_words = dialect.begins(texts[i:]) if not texts[i].startswith("--") else 0
            if n_words:
                return _settled(entry, engine, entry.command[i + n_words :], line)
    told = by_image_of(entry, texts) if by_image else None
    if told is not None:
        return _settled(entry, told, entry.command[1:] if texts[:1] == ["serve"] else entry.command, line)
    told = by_flags(entry, texts)
    if told is not None:
        first = next(i for i, text in enumerate(texts) if flag_name(text) in dialects()[told].TABLE.flags or text.startswith("--"))
        return _settled(entry, told, entry.command[first:], line)
    return _by_variables(entry, line)


def _settled(entry: Server, engine: str, words: tuple[Word, ...], line: int) -> Server:
    gpus = entry.gpus
    if gpus.n_gpus is None:
        gpus = gpus._replace(n_gpus=without_gpu(words, entry.image) or containers.visible(entry.env))
    if without_gpu(words, entry.image) == 0:
        gpus = gpus._replace(n_gpus=0)
    return entry._replace(engine=engine, command=words, line=line, gpus=gpus)


def _named(written: Server) -> Server:
    """A server whose engine is known, the program's name off its words."""
    dialect = dialects().get(written.engine or "")
    texts = [word.text for word in written.command]
    if dialect is None or not texts:
        return written
    for i in range(min(len(texts), 4)):
        n_words = 0 if texts[i].startswith("-") else dialect.begins(texts[i:])
        if n_words:
            return _settled(written, dialect.ENGINE, written.command[i + n_words :], written.line)
    front = 1 if base(texts[0]) in ("llama-server", "ollama", "vllm") else 0
    return _settled(written, dialect.ENGINE, written.command[front:], written.line)


def _by_variables(entry: Server, line: int) -> Server | None:
    """llama.cpp's server without a flag, or a wrapper that gets a GGUF file, where llama.cpp's variables are set."""
    model = next((word for word in entry.command[1:] if word.text.lower().endswith(".gguf")), None)
    is_named = bool(entry.command) and base(entry.command[0].text) == "llama-server"
    if not any(name.startswith("LLAMA_ARG_") for name in entry.env) or (model is None and not is_named):
        return None
    return _settled(entry._replace(model=model), "llama.cpp", (), line)


def _stripped(run: scripts.Run) -> tuple[tuple[Word, ...], dict[str, Word]]:
    """The words behind ``sudo``, ``env X=1`` and the like, and the variables that these set."""
    words, env = list(run.words), dict(run.env)
    while words:
        assigned = re.fullmatch(r"([A-Za-z_]\w*)=(.*)", words[0].text, re.DOTALL)
        if assigned:
            env[assigned[1]] = words[0]._replace(text=assigned[2])
        elif words[0].text not in _PREFIXES and not (len(words) < len(run.words) and re.fullmatch(r"-[EHnu]", words[0].text)):
            break
        words.pop(0)
    return tuple(words), env
