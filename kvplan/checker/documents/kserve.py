"""KServe's InferenceService and the runtime that it names.

Source: KServe 0.18 pkg/controller/v1beta1/inferenceservice/utils (the service's arguments follow the runtime's, its command and variables
replace them; ``{{.Name}}``), config/runtimes; python/huggingfaceserver (vLLM is its default backend).
"""

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from kvplan.checker import pods, selectors, templates
from kvplan.checker.mentions import mentioned
from kvplan.checker.resources import resources
from kvplan.checker.scripts import commands
from kvplan.checker.server import Gpus, Server, Text, Unreadable, Word
from kvplan.checker.shell_wrapping import inner_script
from kvplan.checker.yaml_nodes import MISSING, Node, documents

KIND = "kserve"
_GROUP = "serving.kserve.io"
_RUNTIMES = ("ServingRuntime", "ClusterServingRuntime")
_MOUNT = "/mnt/models"
_MOUNTED = re.compile(r"(?:--?[\w-]+(?:=|[ \t]+))?[\"']?/mnt/models/?[\"']?(?=\s|$)")
_ENGINES = {"vllm": "vllm", "sglang": "sglang", "tgi": "tgi", "tensorrt-llm": "tensorrt-llm"}
_HUGGINGFACE = {"model_id": "model", "model_dir": "model", "model_name": "served-model-name"}
"""What huggingfaceserver calls otherwise than vLLM."""


class _Asked(NamedTuple):
    """A service's predictor, and its runtime with whether it stands in the same file."""

    thing: Node
    predictor: Node
    runtime: Node
    here: bool


def claims(file: Text) -> bool:
    """YAML of KServe's group that has to do with language models."""
    if not file.path.lower().endswith((".yaml", ".yml", ".json")) or _GROUP not in file.text:
        return False
    return "huggingface" in file.text.lower() or mentioned(file.text)


def servers(file: Text) -> Iterator[Server | Unreadable]:
    """A server for each InferenceService, and one for each runtime, whose model is then a service's."""
    things, unreadable = resources(file)
    yield from unreadable
    ours = [thing for thing in things if (thing.get("apiVersion").text or "").startswith(_GROUP)]
    for thing in ours:
        kind = thing.get("kind").text
        if kind == "InferenceService":
            yield from _service(file, thing, ours)
        elif kind in _RUNTIMES:
            yield from _runtime(file, thing)


def _service(file: Text, thing: Node, things: Sequence[Node]) -> Iterator[Server]:
    predictor = thing.get("spec", "predictor")
    if predictor.get("model"):
        name = predictor.get("model", "runtime").text
        runtime = _named(things, name)
        here = bool(runtime)
        yield _joined(file, _Asked(thing, predictor, runtime or _elsewhere(file, name), here))
    elif predictor.get("containers"):
        pod = pods.Pod(predictor, KIND, file.path, thing.get("metadata", "name").text, predictor.get("minReplicas").number or 1)
        for server in pods.servers(pod):
            uri = server.env.get("STORAGE_URI")
            yield _mounted(server, uri) if uri else server


def _runtime(file: Text, thing: Node) -> Iterator[Server]:
    """The runtime alone: where the model is mounted says nothing of which it is."""
    pod = pods.Pod(thing.get("spec"), KIND, file.path, thing.get("metadata", "name").text)
    for server in pods.servers(pod):
        words: list[Word] = []
        for word in server.command:
            left = word._replace(text=_MOUNTED.sub("", word.text))
            if left.text:
                words.append(left)
            elif word.text.startswith(_MOUNT) and words and words[-1].text.startswith("-"):
                words.pop()
        yield server._replace(command=tuple(words))


def _named(things: Sequence[Node], name: str | None) -> Node:
    runtimes = (thing for thing in things if thing.get("kind").text in _RUNTIMES)
    return next((runtime for runtime in runtimes if name and runtime.get("metadata", "name").text == name), MISSING)


def _elsewhere(file: Text, name: str | None) -> Node:
    """The runtime in another file."""
    for other in file.others("ServingRuntime") if name else ():
        things = [
            thing for document in documents(templates.readable(other)) if isinstance(document, Node) for thing in pods.objects(document)
        ]
        if found := _named(things, name):
            return found
    return MISSING


def _joined(file: Text, asked: _Asked) -> Server:
    model, spec = asked.predictor.get("model"), asked.runtime.get("spec")
    name = asked.thing.get("metadata", "name").text
    containers = spec.get("containers").items
    base = next((c for c in containers if c.get("name").text == "kserve-container"), containers[0] if containers else MISSING)
    pod = pods.Pod(spec, KIND, file.path, name, asked.predictor.get("minReplicas").number or 1)
    under, over = pods.of_container(pod, base, Gpus()), pods.of_container(pod, model, _cards(asked, base))
    words = _words(under, asked, name) if base else ()
    server = over._replace(
        name=name,
        line=model.line,
        command=(*words, *over.command),
        env={**under.env, **over.env},
        image=over.image or under.image,
        host_memory=over.host_memory or under.host_memory,
        shared_memory=pods.shared_memory(spec, base) if base else over.shared_memory,
    )
    return _mounted(_known(server, asked), model.get("storageUri").word or model.get("storage", "path").word)


def _words(under: Server, asked: _Asked, name: str | None) -> tuple[Word, ...]:
    """The runtime's words; from another file they stand where the service names it. A worker's sizes are flags."""
    at = asked.predictor.get("model", "runtime")
    words = (word._replace(text=word.text.replace("${Name}", name or "")) for word in under.command)
    return tuple(word if asked.here else word._replace(line=at.line, column=at.column) for word in words)


def _cards(asked: _Asked, base: Node) -> Gpus:
    """The service's cards, or else the runtime's; with workers the cards of all nodes."""
    model, spec = asked.predictor.get("model"), asked.runtime.get("spec")
    place = asked.predictor if asked.predictor.get("nodeSelector") or asked.predictor.get("affinity") else spec
    cards = selectors.gpus(place, model if model.get("resources") else base)
    if cards.n_gpus is None:
        cards = cards._replace(n_gpus=selectors.gpus(place, base).n_gpus)
    workers = asked.predictor.get("workerSpec")
    nodes = workers.get("pipelineParallelSize").number or 1
    return cards._replace(n_gpus=cards.n_gpus * nodes) if cards.n_gpus and workers else cards


def _known(server: Server, asked: _Asked) -> Server:
    """The engine that the model's format names; the runtime of the format ``huggingface`` is KServe's own, unless another one is named."""
    format_ = (asked.predictor.get("model", "modelFormat", "name").text or "").lower()
    runtime = asked.predictor.get("model", "runtime").text or "huggingface"
    said = " ".join(word.text for word in (*server.command, *filter(None, (server.image,)))) if asked.runtime else runtime
    if "huggingface" in said and format_ == "huggingface":
        return _as_vllm(server)
    scripted = inner_script(server.command) is not None  # the script says which engine
    return server if scripted else server._replace(engine=_ENGINES.get(format_))


def _as_vllm(server: Server) -> Server:
    """huggingfaceserver hands to vLLM what it doesn't know itself."""
    words: list[Word] = []
    for word in _behind_program(server):
        key, equals, value = word.text.lstrip("-").partition("=")
        name = _HUGGINGFACE.get(key.replace("-", "_"))
        if word.text.startswith("-"):
            words.append(word._replace(text=f"--{name}{equals}{value}") if name else word)
        elif words:
            words.append(word)
    text = " ".join(word.text for word in words)
    backend = re.search(r"--backend[= ](\w+)", text)
    at = next((i for i, word in enumerate(words) if word.text.startswith("--backend")), len(words))
    kept = (*words[:at], *words[at + (1 if at < len(words) and "=" in words[at].text else 2) :])
    return server._replace(command=kept, engine="transformers" if backend and backend[1] == "huggingface" else "vllm")


def _behind_program(server: Server) -> tuple[Word, ...]:
    """The arguments of huggingfaceserver, also where a script starts it."""
    inner = inner_script(server.command)
    runs = [run.words for run in commands(inner[0], {}, arguments=inner[1], env=server.env)] if inner else [server.command]
    for words in runs:
        at = next((i for i, word in enumerate(words) if word.text == "huggingfaceserver"), None)
        if at is not None:
            return tuple(words[at + 1 :])
    return server.command


def _mounted(server: Server, uri: Word | None) -> Server:
    """The model that lies at the mount: a repository by its name, anything else by its address."""
    if uri is None:
        return server
    name = uri._replace(text=uri.text.removeprefix("hf://").rstrip("/"))
    words = (word._replace(text=word.text.replace(_MOUNT, name.text)) for word in server.command)
    return server._replace(command=tuple(words), model=name)
