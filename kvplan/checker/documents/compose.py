"""Compose files: services with an engine, and ``models:`` for Docker's Model Runner.

Source: compose-spec 05-services.md and 12-interpolation.md, docs.docker.com/ai/compose/models-and-compose
(``context_size``, ``runtime_flags``; llama.cpp with 4096 tokens unless said).
"""

import posixpath
import re
from collections.abc import Iterator

from kvplan.checker import containers, splitting
from kvplan.checker.mentions import MENTIONS
from kvplan.checker.server import Gpus, Server, Text, Unreadable, Word
from kvplan.checker.variables import expand
from kvplan.checker.yaml_nodes import MISSING, Node, documents

KIND, MODELS = "compose", "compose-models"
_EXTENSIONS = (".yaml", ".yml")
_OURS = re.compile(r"^(?:services|models)[ \t]*:", re.MULTILINE)
_RUNNER_CTX = 4096


def claims(file: Text) -> bool:
    """YAML with services and an engine in it, or with models that a runner loads."""
    if not file.path.lower().endswith(_EXTENSIONS) or _OURS.search(file.text) is None:
        return False
    return MENTIONS.search(file.text) is not None or ("models:" in file.text and "model:" in file.text)


def servers(file: Text) -> Iterator[Server | Unreadable]:
    """One for each service and each model; which services run an engine is told by their words."""
    file = file._replace(variables={**_beside(file, ".env"), **file.variables})
    for document in documents(file):
        if isinstance(document, Unreadable):
            yield document
            continue
        services = document.get("services")
        for name, service in services.named():
            if service.kind == "map":
                yield _Service(file, _inherited(service, services)).server(name)
        for name, model in document.get("models").named():
            if model.get("model"):
                yield _model(file, name, model)


def _beside(file: Text, name: str) -> dict[str, str]:
    """The variables of a file of them, its path seen from the folder: Compose reads ``.env`` by itself."""
    folder = file.path.rpartition("/")[0]
    found = file.at(name)
    if found and folder and found.path == posixpath.normpath(name):
        found = None  # that of the root is for those who stand there
    pairs = (line.removeprefix("export ").partition("=") for line in found.text.splitlines()) if found else ()
    return {
        key.strip(): re.sub(r"\s+#.*$", "", value.strip()).strip("\"'")
        for key, equals, value in pairs
        if equals and not key.lstrip().startswith("#")
    }


def _inherited(service: Node, services: Node) -> Node:
    """A service with what it ``extends`` in the same file, which its own keys override."""
    extends = service.get("extends")
    base = services.get(extends.text or extends.get("service").text or "") if not extends.get("file") else MISSING
    if base.kind != "map" or base is service:
        return service
    return service.over(base)


class _Service:
    def __init__(self, file: Text, node: Node) -> None:
        self._file, self._node = file, node
        self._env = self._environment()

    def server(self, name: Word) -> Server:
        node = self._node
        entrypoint = self._words(node.get("entrypoint"))
        words = (*entrypoint, *self._words(node.get("command")))
        image = self._expanded(node.get("image").word)
        gpus, cards = self._gpus()
        shm = self._expanded(node.get("shm_size").word)
        if shm is None and (node.get("ipc").text or "").startswith("host"):
            shm = node.get("ipc").word
        deploy = node.get("deploy")
        return Server(
            KIND,
            name.text,
            self._file.path,
            words[0].line if words else name.line,
            words,
            self._env,
            image,
            gpus=gpus,
            replicas=deploy.get("replicas").number or node.get("scale").number or 1,
            host_memory=self._expanded(deploy.get("resources", "limits", "memory").word or node.get("mem_limit").word),
            shared_memory=shm,
            co_located=None if node.get("profiles") else cards,
        )

    def _expanded(self, word: Word | None) -> Word | None:
        return None if word is None else word._replace(text=expand(word.text, self._file.variables, "compose").text)

    def _words(self, node: Node) -> tuple[Word, ...]:
        """A list word for word; a text is split as a shell would, without a shell."""
        if node.kind == "list":
            return tuple(said for word in node.words() if (said := self._expanded(word)) is not None)
        word = self._expanded(node.word)
        if word is None:
            return ()
        return tuple(_placed(word, node, splitting.words(word.text)))

    def _environment(self) -> dict[str, Word]:
        """A map, or a list of NAME=VALUE; a name alone is the caller's variable."""
        node = self._node.get("environment")
        env = dict(self._files())
        for key, value in node.named():
            said = self._expanded(value.word)
            if said is not None:
                env[key.text] = said
        for item in node.words():
            name, equals, _ = item.text.partition("=")
            if equals:
                text = expand(item.text, self._file.variables, "compose").text.partition("=")[2]
                env[name] = item._replace(text=text)
            elif name in self._file.variables:
                env[name] = item._replace(text=self._file.variables[name])
        return env

    def _files(self) -> Iterator[tuple[str, Word]]:
        """The variables of each ``env_file``, as far as it lies beside."""
        node = self._node.get("env_file")
        for word in (*node.words(), *(item.get("path").word for item in node.items if item.get("path")), node.word):
            if word is not None:
                for name, value in _beside(self._file, word.text.removeprefix("./")).items():
                    yield name, word._replace(text=value)

    def _gpus(self) -> tuple[Gpus, str | None]:
        """What is reserved, and which cards these are where that is known. A count alone takes the first ones."""
        reserved = self._node.get("deploy", "resources", "reservations", "devices").items
        asked = [device for device in (*reserved, *self._node.get("gpus").items) if device.kind == "map"]
        ids = [self._text(word) for device in asked for word in device.get("device_ids").words()]
        count = next((self._text(device.get("count").word) for device in asked if device.get("count")), "")
        seen = containers.visible(self._env)
        pinned = self._env.get("CUDA_VISIBLE_DEVICES") or self._env.get("NVIDIA_VISIBLE_DEVICES")
        if ids:
            known = not any("$" in said for said in ids)
            return Gpus(len(ids) if known else None), f"GPU {','.join(sorted(ids))}" if known else None
        if seen is not None and pinned is not None:
            return Gpus(seen), f"GPU {pinned.text}"
        if count.isdecimal():
            return Gpus(int(count)), f"GPU {','.join(map(str, range(int(count))))}" if int(count) < 64 else None
        everything = (
            count == "all" or (asked and not count) or self._node.get("gpus").text == "all" or self._node.get("runtime").text == "nvidia"
        )
        return Gpus(), "all GPUs" if everything else None

    def _text(self, word: Word | None) -> str:
        said = self._expanded(word)
        return said.text.strip() if said else ""


def _placed(word: Word, node: Node, parts: list[str]) -> Iterator[Word]:
    """Words of a text, each on its line where the text is a block; in other texts on the line where it begins."""
    if node.style not in ("literal", "folded"):
        yield from (word._replace(text=part) for part in parts)
        return
    line = word.line
    lines = iter(word.text.split("\n") if node.style == "literal" else [word.text])
    current, at = next(lines, ""), 0
    for part in parts:
        bare = part.split("\n")[0]
        while node.style == "literal" and current.find(bare, at) < 0:
            following = next(lines, None)
            if following is None:
                break
            current, at, line = following, 0, line + 1
        found = max(current.find(bare, at), 0)
        at = found + len(bare)
        yield Word(part, line, word.column + (found if node.style == "literal" else 0))


def _model(file: Text, name: Word, node: Node) -> Server:
    """A model that Docker's Model Runner loads with llama.cpp; its flags are llama-server's."""

    def expanded(word: Word) -> Word:
        return word._replace(text=expand(word.text, file.variables, "compose").text)

    ref = node.get("model").word
    ctx = node.get("context_size").word or name._replace(text=str(_RUNNER_CTX))
    words = [name._replace(text="llama-server"), ctx._replace(text="-c"), expanded(ctx)]
    for word in node.get("runtime_flags").words():
        words += [word._replace(text=part) for part in expanded(word).text.split()]
    return Server(MODELS, name.text, file.path, name.line, tuple(words), engine="llama.cpp", model=expanded(ref) if ref else None)
