"""The objects of a Kubernetes file, whatever kind they are."""

from kvplan.checker import pods, templates
from kvplan.checker.server import Text, Unreadable
from kvplan.checker.yaml_nodes import Node, documents


def resources(file: Text) -> tuple[tuple[Node, ...], tuple[Unreadable, ...]]:
    """Every object, those of Lists apart, and the documents that can't be read."""
    found = tuple(documents(templates.readable(file)))
    things = tuple(thing for document in found if isinstance(document, Node) for thing in pods.objects(document))
    return things, tuple(document for document in found if isinstance(document, Unreadable))
