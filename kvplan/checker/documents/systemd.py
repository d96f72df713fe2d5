"""Units of systemd, and Podman's quadlets: what ExecStart runs, or what a container is started with.

Source: systemd.service(5) (ExecStart: no shell, special prefixes, ``$VAR`` from Environment), systemd.syntax(7) (a backslash at a line's
end, comments between); podman-systemd.unit(5) (Image, Exec, Environment, AddDevice, ShmSize).
"""

import re
from collections.abc import Iterator

from kvplan.checker.scripts import commands
from kvplan.checker.server import Gpus, Server, Text, Unreadable, Word

KIND = "systemd"
_EXTENSIONS = (".service", ".container", ".conf")
_STARTS = re.compile(r"^[ \t]*(?:ExecStart|Image)[ \t]*=[ \t]*\S", re.MULTILINE)
_SETTING = re.compile(r"[ \t]*(\w+)[ \t]*=[ \t]*(.*)", re.DOTALL)
_PREFIXES = "@-:+!|"

Settings = list[tuple[str, Word]]


def claims(file: Text) -> bool:
    """Named as a unit or its drop-in, and starting something."""
    return file.path.lower().endswith(_EXTENSIONS) and _STARTS.search(file.text) is not None


def servers(file: Text) -> Iterator[Server | Unreadable]:
    """One for each ExecStart, or the one of the container."""
    settings = list(_settings(file.text))
    env = dict(_environment(settings))
    name = file.path.rpartition("/")[2].rpartition(".")[0]
    image = next((word for key, word in settings if key == "Image"), None)
    said = {key: word for key, word in settings}
    if image:
        words = next((run.words for key, word in settings if key == "Exec" for run in commands(word, file.variables, env=env)), ())
        gpus = Gpus(1) if any(re.search(r"gpu=\d+$", word.text) for key, word in settings if key == "AddDevice") else Gpus()
        named = said.get("ContainerName", Word(name, image.line)).text
        yield Server(KIND, named, file.path, image.line, tuple(words), env, image, gpus=gpus, shared_memory=said.get("ShmSize"))
        return
    for key, word in settings:
        if key == "ExecStart" and word.text:
            command = word._replace(text=word.text.lstrip(_PREFIXES))
            for run in commands(command, file.variables, env=env):
                yield Server(KIND, name, file.path, word.line, run.words, {**env, **run.env})


def _settings(text: str) -> Iterator[tuple[str, Word]]:
    """Keys and values; a value over several lines keeps them, so that places stay."""
    held, first = "", 0
    for number, line in enumerate(text.removeprefix("\ufeff").splitlines(), 1):
        comment = line.lstrip().startswith(("#", ";"))
        if held:
            held += "\\\n" if comment else line.rstrip() + "\n"
        elif not comment:
            held, first = line.rstrip() + "\n", number
        if held and not held.endswith("\\\n"):
            found = _SETTING.fullmatch(held.rstrip("\n"))
            if found:
                yield found[1], Word(found[2], first, found.start(2) + 1)
            held = ""


def _environment(settings: Settings) -> Iterator[tuple[str, Word]]:
    """Every assignment of ``Environment="A=1" B=2``."""
    for key, word in settings:
        if key == "Environment":
            for found in re.finditer(
                r"""(?:"([A-Za-z_]\w*)=([^"]*)"|'([A-Za-z_]\w*)=([^']*)'|([A-Za-z_]\w*)=(?:"([^"]*)"|(\S*)))""", word.text
            ):
                name = found[1] or found[3] or found[5]
                value = next((group for group in (found[2], found[4], found[6], found[7]) if group is not None), "")
                yield name, word._replace(text=value, column=word.column + found.start())
