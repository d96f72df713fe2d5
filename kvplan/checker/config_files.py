"""``vllm serve --config FILE`` with its file: one server, whose flags stand in two places.

Source: vllm 0.33.0 utils/argparse_utils.py, load_config_file: what the command line says wins, wherever it stands.
"""

from collections.abc import Iterator
from pathlib import PurePosixPath

from kvplan.checker.documents import vllm_config
from kvplan.checker.option_files import flags
from kvplan.checker.server import Server, Text, Word

_OPTION = "--config"


def joined(server: Server, file: Text) -> tuple[Server, str | None]:
    """The server with the settings of the file that its command names, and that file's path; as it was where there is none."""
    at = next((i for i, word in enumerate(server.command) if word.text == _OPTION or word.text.startswith(f"{_OPTION}=")), None)
    if server.engine != "vllm" or at is None:
        return server, None
    alone = server.command[at].text == _OPTION
    named = server.command[at + 1 : at + 2] if alone else (server.command[at]._replace(text=server.command[at].text.partition("=")[2]),)
    found = next(_settings(named[0], file), None) if named and named[0].text else None
    if found is None:
        return server, None
    path, said = found
    rest = (*server.command[:at], *server.command[at + 1 + alone :])
    n_model = int(bool(rest) and not rest[0].text.startswith("-"))  # stays first: it is where the server is said to be
    return server._replace(command=(*rest[:n_model], *said, *rest[n_model:])), path


def _settings(named: Word, file: Text) -> Iterator[tuple[str, tuple[Word, ...]]]:
    """The file of that path, seen from the script or the root; else those of its name that hold settings: images have other folders."""
    here = file.at(named.text)
    if here is not None:
        yield here.path, _words(named, here)
        return
    name = PurePosixPath(named.text.replace("\\", "/")).name
    for other in file.others("") if name else ():
        if PurePosixPath(other.path).name == name and vllm_config.claims(other):
            yield other.path, _words(named, other)


def _words(named: Word, file: Text) -> tuple[Word, ...]:
    return tuple(named._replace(text=text) for text in flags(_OPTION, file.text))
