"""Kubernetes manifests: whatever holds a pod, found by its shape; lists, patches and LeaderWorkerSets too.

Source: Kubernetes API reference; LeaderWorkerSet docs/concepts (leaderWorkerTemplate: ``size`` pods a group, of which one leads).
"""

import re
from collections.abc import Iterator

from kvplan.checker import pods, templates
from kvplan.checker.embedded import blocks
from kvplan.checker.mentions import mentioned
from kvplan.checker.server import Server, Text, Unreadable
from kvplan.checker.yaml_nodes import Node, documents

KIND = "kubernetes"
_EXTENSIONS = (".yaml", ".yml", ".json", ".tpl", ".tmpl", ".j2", ".template")
_SHAPE = re.compile(r"\bkind[\"']?:")
_OTHERS = ("serving.kserve.io", "production-stack.vllm.ai", "nvidia.com", "kaito.sh")
"""Groups whose objects hold pods and have a format of their own."""

_NODES = re.compile(r"--nnodes(?:=|[ \\\t\n]+)(\d{1,4})(?![\w.])")
_RAY = ("RayCluster", "RayService", "RayJob")
"""KubeRay starts Ray in these pods, whatever their images would start."""


def claims(file: Text) -> bool:
    """YAML with an object that has containers, and something of an engine."""
    if not file.path.lower().endswith(_EXTENSIONS) or "containers" not in file.text:
        return False
    return _SHAPE.search(file.text) is not None and mentioned(file.text)


def servers(file: Text) -> Iterator[Server | Unreadable]:
    """Every container of every pod, in the file's order; documents that are broken lose only themselves."""
    found = list(documents(templates.readable(file)))
    config = pods.config_maps([document for document in found if isinstance(document, Node)])
    for document in found:
        if isinstance(document, Unreadable):
            yield document
            continue
        patched = blocks(document.get("patches"), file.path, "containers:") if document.get("kind").text == "Kustomization" else ()
        for thing in (*pods.objects(document), *patched):
            yield from _servers(thing, file.path, config)


def _servers(thing: Node, path: str, config: dict[str, Node]) -> Iterator[Server]:
    group = (thing.get("apiVersion").text or "").partition("/")[0]
    kind = thing.get("kind").text
    if kind is None or group in _OTHERS:
        return
    if kind == "LeaderWorkerSet":
        yield from _group(thing, path, config)
        return
    for pod in pods.pods(thing, KIND, path, config):
        for server in pods.servers(pod):
            yield server._replace(image=None) if kind in _RAY else _over_nodes(server)


def _over_nodes(server: Server) -> Server:
    """The cards of all pods where several are the nodes of one engine."""
    said = _NODES.search(" ".join(word.text for word in server.command))
    nodes, cards = int(said[1]) if said else 1, server.gpus.n_gpus
    if nodes < 2 or not cards:
        return server
    return server._replace(gpus=server.gpus._replace(n_gpus=cards * nodes), replicas=max(1, server.replicas // nodes))


def _group(thing: Node, path: str, config: dict[str, Node]) -> Iterator[Server]:
    """The leader's server with the cards of the whole group; without a leader of its own a worker leads."""
    template = thing.get("spec", "leaderWorkerTemplate")
    size = template.get("size").number or 1
    worker = template.get("workerTemplate", "spec")
    leader = template.get("leaderTemplate", "spec") or worker
    base = pods.Pod(leader, KIND, path, thing.get("metadata", "name").text, thing.get("spec", "replicas").number or 1, config)
    helping = max((server.gpus.n_gpus or 0 for server in pods.servers(base._replace(spec=worker))), default=0)
    for server in pods.servers(base):
        cards = server.gpus.n_gpus
        yield server._replace(gpus=server.gpus._replace(n_gpus=cards if not cards and not helping else (cards or 0) + helping * (size - 1)))
