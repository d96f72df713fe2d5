"""Pods as Kubernetes and what is built upon it describe them: from a pod's specification to the servers in its containers.

Source: Kubernetes API reference (PodSpec, Container: command replaces the image's entrypoint, args its arguments; ``$(VAR)`` is replaced
from the container's own env, ``$$(VAR)`` is ``$(VAR)``, and a name without a value stays as it is).
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from kvplan.checker import selectors
from kvplan.checker.option_files import with_files
from kvplan.checker.server import Gpus, Server, Word
from kvplan.checker.variables import expand, left_in
from kvplan.checker.yaml_nodes import MISSING, Node

_UNBOUNDED = "unbounded"


class Pod(NamedTuple):
    """A pod's specification and whose it is; ``config`` are the ConfigMaps beside it, by name."""

    spec: Node
    kind: str
    file: str
    name: str | None
    replicas: int = 1
    config: Mapping[str, Node] = {}


def objects(document: Node) -> Iterator[Node]:
    """The object that a document holds, or those of a List or of OpenShift's Template."""
    inside = document.get("items") or document.get("objects")
    if inside.items and (document.get("kind").text or "").endswith(("List", "Template")):
        yield from inside.items
    else:
        yield document


def pods(node: Node, kind: str, file: str, config: Mapping[str, Node]) -> Iterator[Pod]:
    """Every pod that an object describes, found by its shape, with the replicas said nearest above it."""
    yield from _inside(node, Pod(MISSING, kind, file, node.get("metadata", "name").text, config=config))


def _inside(node: Node, pod: Pod) -> Iterator[Pod]:
    containers = node.get("containers")
    if any(container.get("name") or container.get("image") for container in containers.items):
        yield pod._replace(spec=node)
        return
    pod = pod._replace(replicas=node.get("replicas").number or pod.replicas)
    for _, value in node.named():
        yield from _inside(value, pod)
    for item in node.items:
        yield from _inside(item, pod)


def servers(pod: Pod) -> Iterator[Server]:
    """One for each container: whether it is an engine shows in its command or image."""
    containers = [container for container in pod.spec.get("containers").items if container.kind == "map"]
    cards = [selectors.gpus(pod.spec, container) for container in containers]
    shared = len(containers) > 1 and sum(bool(card.n_gpus) for card in cards) <= 1
    for container, card in zip(containers, cards, strict=True):
        server = of_container(pod, container, card)
        alone = len(containers) == 1 or shared
        own = None if "$" in (pod.name or "") else pod.name
        name = own if alone else "/".join(filter(None, (own, container.get("name").text)))
        yield server._replace(name=name or server.name, co_located=f"the pod of {pod.name}" if shared else None)


def of_container(pod: Pod, container: Node, card: Gpus) -> Server:
    """The server that a container runs; None of its fields is guessed from the container's name."""
    env = environment(container, pod.config)
    command = container.get("command").words() or _one(container.get("command"))
    args = container.get("args").words() or _one(container.get("args"))
    said = tuple(replaced(word, env) for word in (*command, *args))
    mounted = dict(_mounted(pod, container)) if pod.config else {}
    words = with_files(_with_script(said, mounted), {path: word.text for path, word in mounted.items()})
    image = container.get("image").word
    limits = container.get("resources", "limits")
    at = words[0] if words else image
    return Server(
        pod.kind,
        container.get("name").text,
        pod.file,
        at.line if at else container.line,
        words,
        {name: word for name, word in env.items() if word.text},
        image,
        gpus=card,
        replicas=pod.replicas,
        host_memory=limits.get("memory").word,
        shared_memory=shared_memory(pod.spec, container),
        unresolved=tuple(name for key, value in limits.named() if "gpu" in key.text for name in left_in(value.text or "")),
    )


def _one(node: Node) -> tuple[Word, ...]:
    """A command that is a text instead of a list, which Kubernetes refuses and templates make into one."""
    return (node.word,) if node.word else ()


def _with_script(words: tuple[Word, ...], mounted: Mapping[str, Word]) -> tuple[Word, ...]:
    """A script of a ConfigMap in this file as the text that the shell runs, where the command begins with it."""
    at = next((i for i, word in enumerate(words[:3]) if word.text in mounted), None)
    return words if at is None else (words[at]._replace(text="bash"), words[at]._replace(text="-c"), mounted[words[at].text], *words[at:])


def _mounted(pod: Pod, container: Node) -> Iterator[tuple[str, Word]]:
    """Paths of the container at which texts of ConfigMaps lie."""
    volumes = {volume.get("name").text: volume.get("configMap", "name").text for volume in pod.spec.get("volumes").items}
    for mount in container.get("volumeMounts").items:
        path, part = (mount.get("mountPath").text or "").rstrip("/"), mount.get("subPath").text
        for key, value in pod.config.get(volumes.get(mount.get("name").text) or "", MISSING).named():
            if value.word and part in (None, key.text):
                yield path if part else f"{path}/{key.text}", value.word


def environment(container: Node, config: Mapping[str, Node]) -> dict[str, Word]:
    """A container's variables with a value in the file, those of ConfigMaps in it too."""
    env: dict[str, Word] = {}
    for source in container.get("envFrom").items:
        data = config.get(source.get("configMapRef", "name").text or "", MISSING)
        env.update({key.text: value.word for key, value in data.named() if value.word})
    return {**env, **variables(container.get("env"), env, config)}


def variables(listed: Node, above: Mapping[str, Word], config: Mapping[str, Node] = {}) -> dict[str, Word]:
    """A list of names and values; where the value is elsewhere, in a secret or a field, the name is left out."""
    env: dict[str, Word] = {}
    for variable in listed.items:
        name, value = variable.get("name").text, variable.get("value").word
        reference = variable.get("valueFrom", "configMapKeyRef")
        if reference:
            value = config.get(reference.get("name").text or "", MISSING).get(reference.get("key").text or "").word
        if name and value:
            env[name] = replaced(value, {**above, **env})
        elif name:
            env.pop(name, None)
    return env


def replaced(word: Word, env: Mapping[str, Word]) -> Word:
    """``$(VAR)`` with its value, where there is one."""
    return word._replace(text=expand(word.text, {name: value.text for name, value in env.items()}, "kubernetes").text)


def shared_memory(spec: Node, container: Node) -> Word | None:
    """The size of what is mounted at /dev/shm; a text that is no size where that is not bounded, or not in this file.

    A container without an image is a patch of another file's, and may get its volumes there.
    """
    at = Word(_UNBOUNDED, container.line)
    mount = next((m for m in container.get("volumeMounts").items if (m.get("mountPath").text or "").rstrip("/") == "/dev/shm"), MISSING)
    if not mount:
        return at if spec.get("hostIPC").truth or not container.get("image") else None
    name = mount.get("name").text
    volume = next((v for v in spec.get("volumes").items if v.get("name").text == name), MISSING)
    return volume.get("emptyDir", "sizeLimit").word or at._replace(line=mount.line)


def config_maps(documents: Sequence[Node]) -> dict[str, Node]:
    """The data of each ConfigMap by its name."""
    return {d.get("metadata", "name").text or "": d.get("data") for d in documents if d.get("kind").text == "ConfigMap"}
