"""YAML in texts of YAML: patches of kustomizations, values of Argo CD's applications."""

from collections.abc import Iterator

from kvplan.checker.yaml_nodes import Node, within


def blocks(node: Node, path: str, mention: str) -> Iterator[Node]:
    """The documents in every block of text below ``node`` that holds ``mention``; those that can't be read are left out."""
    word = node.word
    if word and node.style in ("literal", "folded") and mention in word.text:
        yield from (found for found in within(path, word.text, word.line) if isinstance(found, Node))
    for _, value in node.named():
        yield from blocks(value, path, mention)
    for item in node.items:
        yield from blocks(item, path, mention)
