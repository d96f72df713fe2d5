"""NVIDIA Dynamo's graphs: the workers of a DynamoGraphDeployment, in both versions of its API.

Source: ai-dynamo/dynamo examples/backends/*/deploy (v1alpha1: ``spec.services`` by name, ``extraPodSpec.mainContainer``,
``resources.limits.gpu``; v1beta1: ``spec.components[]`` with a podTemplate), docs/kubernetes/multinode (``multinode.nodeCount`` pods
make one worker).
"""

from collections.abc import Iterator

from kvplan.checker import pods, selectors
from kvplan.checker.resources import resources
from kvplan.checker.server import Gpus, Server, Text, Unreadable
from kvplan.checker.yaml_nodes import MISSING, Node

KIND = "dynamo"
_KIND = "DynamoGraphDeployment"
_NO_ENGINES = ("frontend", "planner", "router", "processor", "epp")


def claims(file: Text) -> bool:
    """YAML with the resource's kind."""
    return file.path.lower().endswith((".yaml", ".yml")) and _KIND in file.text


def servers(file: Text) -> Iterator[Server | Unreadable]:
    """One for each component that says what it runs."""
    things, unreadable = resources(file)
    yield from unreadable
    config = pods.config_maps(things)
    for thing in things:
        if thing.get("kind").text == _KIND:
            for name, part in _components(thing.get("spec")):
                server = _server(pods.Pod(MISSING, KIND, file.path, name, part.get("replicas").number or 1, config), part)
                if server.command and _kind(part) not in _NO_ENGINES:
                    yield server


def _components(spec: Node) -> Iterator[tuple[str | None, Node]]:
    for name, part in spec.get("services").named():
        yield name.text, part
    for part in spec.get("components").items:
        yield part.get("name").text, part


def _kind(part: Node) -> str:
    return (part.get("type").text or part.get("componentType").text or "").lower()


def _server(pod: pods.Pod, part: Node) -> Server:
    spec = part.get("podTemplate", "spec") or part.get("extraPodSpec")
    containers = spec.get("containers").items
    main = next((c for c in containers if c.get("name").text == "main"), containers[0] if containers else spec.get("mainContainer"))
    nodes = part.get("multinode", "nodeCount").number or 1
    server = pods.of_container(pod._replace(spec=spec), main, _cards(spec, main, part, nodes))
    limits = part.get("resources", "limits")
    return server._replace(
        name=pod.name,
        env={**pods.variables(part.get("envs"), {}), **server.env},
        host_memory=server.host_memory or limits.get("memory").word,
        shared_memory=server.shared_memory or part.get("sharedMemory", "size").word,
    )


def _cards(spec: Node, main: Node, part: Node, nodes: int) -> Gpus:
    """The container's cards, or those that the component counts in its own words; of all its nodes."""
    cards = selectors.gpus(spec, main)
    own = part.get("resources", "limits", "gpu").number or part.get("resources", "requests", "gpu").number
    n_gpus = cards.n_gpus if cards.n_gpus is not None else own
    kind = part.get("resources", "limits", "gpuType").word
    if kind and not cards.names and kind.text not in ("gpu", "nvidia.com/gpu"):
        cards = cards._replace(names=(kind,))
    return cards._replace(n_gpus=n_gpus * nodes if n_gpus else n_gpus)
