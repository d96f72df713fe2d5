"""SkyPilot tasks and services: a script, and the accelerators that it may get.

Source: docs.skypilot.co reference/yaml-spec (``accelerators`` is a text, a list, or a set or map of alternatives; ``any_of`` and
``ordered`` list whole resources; counts are those of one node), running-jobs/environment-variables; `{L4:1}` in YAML is a key without a
value.
"""

import re
from collections.abc import Iterator

from kvplan.checker import pins, templates
from kvplan.checker.server import Gpus, Server, Text, Unreadable, Word
from kvplan.checker.yaml_nodes import Node, documents

KIND = "skypilot"
_RUN = re.compile(r"^run:", re.MULTILINE)
_SHAPE = re.compile(r"^(?:resources|service|num_nodes|envs|setup):", re.MULTILINE)


def claims(file: Text) -> bool:
    """YAML with a script to run and what it runs on."""
    if not file.path.lower().endswith((".yaml", ".yml")) or "run:" not in file.text:
        return False
    return _RUN.search(file.text) is not None and _SHAPE.search(file.text) is not None


def servers(file: Text) -> Iterator[Server | Unreadable]:
    """What the script starts, on all alternatives together; apart only where these differ in how many cards they have."""
    for document in documents(templates.readable(file)):
        if isinstance(document, Unreadable):
            yield document
        elif document.get("run").word and document.get("run").kind == "scalar":
            for gpus in _alternatives(document):
                yield _server(file.path, document, gpus)


def _server(path: str, task: Node, gpus: Gpus) -> Server:
    run, nodes = task.get("run").word or Word("", task.line), task.get("num_nodes").number or 1
    said = {key.text: value.word for part in ("envs", "secrets") for key, value in task.get(part).named() if value.word}
    env = {
        "SKYPILOT_NUM_NODES": Word(str(nodes), run.line),
        **({"SKYPILOT_NUM_GPUS_PER_NODE": Word(str(gpus.n_gpus), run.line)} if gpus.n_gpus else {}),
        **said,
    }
    image = next((r.get("image_id").word for r in _resources(task) if (r.get("image_id").text or "").startswith("docker:")), None)
    setup = task.get("setup").word
    pinned = {**(pins.pinned(setup.text, setup.line) if setup else {}), **pins.pinned(run.text, run.line)}
    service = task.get("service")
    return Server(
        KIND,
        task.get("name").text,
        path,
        run.line,
        (run._replace(text="bash"), run._replace(text="-c"), run),
        env,
        image._replace(text=image.text.removeprefix("docker:")) if image else None,
        gpus=gpus._replace(n_gpus=gpus.n_gpus * nodes if gpus.n_gpus else gpus.n_gpus),
        replicas=service.get("replicas").number or service.get("replica_policy", "min_replicas").number or 1,
        pinned=next(iter(pinned.values())) if len(pinned) == 1 else None,
    )


def _resources(task: Node) -> Iterator[Node]:
    """The resources and the alternatives among them."""
    resources = task.get("resources")
    yield resources
    for key in ("any_of", "ordered"):
        yield from resources.get(key).items


def _alternatives(task: Node) -> Iterator[Gpus]:
    """Cards by how many there are; one without any where none are named."""
    counts: dict[int | None, dict[str, Word]] = {}
    for resources in _resources(task):
        for word in _accelerators(resources.get("accelerators")):
            name, _, count = word.text.partition(":")
            number = int(count) if count.strip().isdecimal() else None if "$" in count else 1
            counts.setdefault(number, {})[name.strip()] = word._replace(text=name.strip())
        machine = resources.get("instance_type").word
        if machine:
            counts.setdefault(None, {})[machine.text] = machine
    for number, names in counts.items():
        yield Gpus(number, tuple(names.values()))
    if not counts:
        yield Gpus()


def _accelerators(node: Node) -> Iterator[Word]:
    """``L4:1`` for each, however they are written."""
    if node.kind == "scalar" and node.word:
        yield node.word
    yield from node.words()
    for key, value in node.named():
        yield key._replace(text=f"{key.text}:{value.text}") if value.text else key
