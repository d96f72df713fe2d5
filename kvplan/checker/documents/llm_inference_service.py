"""KServe's LLMInferenceService: vLLM as its default configuration starts it, with what the service says itself.

Source: KServe 0.18 config/llmisvcconfig/*.yaml (``vllm serve`` with sizes from ``parallelism``, then VLLM_ADDITIONAL_ARGS, then the
container's arguments), pkg/apis/serving/v1alpha2/llm_inference_service_types.go; docs/samples/llmisvc (data / dataLocal pods a replica).
"""

from collections.abc import Iterator

from kvplan.checker import pods, selectors, splitting
from kvplan.checker.resources import resources
from kvplan.checker.server import Server, Text, Unreadable, Word
from kvplan.checker.shell_wrapping import inner_script
from kvplan.checker.yaml_nodes import MISSING, Node

KIND = "kserve-llm"
_SIZES = {"tensor": "tensor-parallel-size", "pipeline": "pipeline-parallel-size", "data": "data-parallel-size"}
_MORE = "VLLM_ADDITIONAL_ARGS"


def claims(file: Text) -> bool:
    """YAML with the resource's kind."""
    return file.path.lower().endswith((".yaml", ".yml")) and "LLMInferenceService" in file.text


def servers(file: Text) -> Iterator[Server | Unreadable]:
    """The service's server, and that of its prefill where they are apart."""
    things, unreadable = resources(file)
    yield from unreadable
    for thing in things:
        if thing.get("kind").text == "LLMInferenceService":
            spec, name = thing.get("spec"), thing.get("metadata", "name").text
            yield _server(file.path, name, spec, spec)
            if spec.get("prefill"):
                yield _server(file.path, f"{name}-prefill", spec, spec.get("prefill"))


def _server(path: str, name: str | None, spec: Node, part: Node) -> Server:
    template = part.get("template")
    containers = template.get("containers").items
    main = next((c for c in containers if c.get("name").text == "main"), containers[0] if containers else MISSING)
    pod = pods.Pod(template, KIND, path, name, part.get("replicas").number or 1)
    server = pods.of_container(pod, main, selectors.gpus(template, main))
    cards = server.gpus.n_gpus
    n_pods = _pods(part.get("parallelism"))
    return server._replace(
        name=name,
        line=part.line if part is not spec else spec.get("model").line or spec.line,
        command=_command(spec, part, server),
        engine=None if inner_script(server.command) else "vllm",
        model=_model(spec),
        gpus=server.gpus._replace(n_gpus=cards * n_pods if cards else cards),
        shared_memory=server.shared_memory or Word("that of the default configuration", spec.line),
    )


def _model(spec: Node) -> Word | None:
    """The repository, or the address; of a volume the name under which the model is served."""
    uri, name = spec.get("model", "uri").word, spec.get("model", "name").word
    if uri and uri.text.startswith("hf://"):
        return uri._replace(text=uri.text.removeprefix("hf://"))
    return name if name and "/" in name.text else uri or name


def _command(spec: Node, part: Node, server: Server) -> tuple[Word, ...]:
    """A command of its own replaces the default's; sizes stand before the arguments, so that what is said twice ends as vLLM takes it."""
    if server.command and not server.command[0].text.startswith("-"):
        model = _model(spec)
        return tuple(word._replace(text=word.text.replace("/mnt/models", model.text)) if model else word for word in server.command)
    at = _model(spec) or Word("", spec.line)
    words = [at._replace(text="vllm"), at._replace(text="serve"), at]
    for key, value in part.get("parallelism").named():
        if key.text in _SIZES and value.word:
            words += [key._replace(text=f"--{_SIZES[key.text]}"), value.word]
        elif key.text == "expert" and value.truth:
            words.append(key._replace(text="--enable-expert-parallel"))
    return (*words, *_added(server.env.get(_MORE)), *server.command)


def _added(said: Word | None) -> Iterator[Word]:
    """The variable's words as the shell parts them."""
    if said:
        yield from (said._replace(text=part) for part in splitting.words(said.text))


def _pods(parallelism: Node) -> int:
    """How many pods a replica has: stages of a pipeline, or as many as hold all data ranks."""
    data, local = parallelism.get("data").number or 1, parallelism.get("dataLocal").number
    return max(1, data // local) if local else parallelism.get("pipeline").number or 1
