"""KAITO's Workspace and InferenceSet: a preset, and a ConfigMap that holds vLLM's settings as YAML in YAML.

Source: kaito-project/kaito 2026-08 api/v1beta1/workspace_types.go, presets/workspace/models/supported_models.yaml (names of presets
and their repositories; any other name is a repository), examples/inference/kaito_workspace_custom_config.yaml (``max_probe_steps``: the
context is probed). vLLM is the default runtime.
"""

from collections.abc import Iterator, Mapping, Sequence

from kvplan.checker import instances, pods
from kvplan.checker.keyed import flags
from kvplan.checker.resources import resources
from kvplan.checker.server import Gpus, Server, Text, Unreadable, Word
from kvplan.checker.yaml_nodes import MISSING, Node, documents, within

KIND = "kaito"
_KINDS = ("Workspace", "InferenceSet")
_FILE = "inference_config.yaml"
_PRESETS = dict(
    line.split()
    for line in """
llama-3.1-8b-instruct meta-llama/Llama-3.1-8B-Instruct
llama-3.3-70b-instruct meta-llama/Llama-3.3-70B-Instruct
deepseek-r1-0528 deepseek-ai/DeepSeek-R1-0528
deepseek-v3-0324 deepseek-ai/DeepSeek-V3-0324
falcon-7b tiiuae/falcon-7b
falcon-7b-instruct tiiuae/falcon-7b-instruct
falcon-40b tiiuae/falcon-40b
falcon-40b-instruct tiiuae/falcon-40b-instruct
mistral-7b mistralai/Mistral-7B-v0.3
mistral-7b-instruct mistralai/Mistral-7B-Instruct-v0.3
ministral-3-3b-instruct mistralai/Ministral-3-3B-Instruct-2512
ministral-3-8b-instruct mistralai/Ministral-3-8B-Instruct-2512
ministral-3-14b-instruct mistralai/Ministral-3-14B-Instruct-2512
mistral-large-3-675b-instruct mistralai/Mistral-Large-3-675B-Instruct-2512
phi-2 microsoft/phi-2
phi-3-mini-4k-instruct microsoft/Phi-3-mini-4k-instruct
phi-3-mini-128k-instruct microsoft/Phi-3-mini-128k-instruct
phi-3-medium-4k-instruct microsoft/Phi-3-medium-4k-instruct
phi-3-medium-128k-instruct microsoft/Phi-3-medium-128k-instruct
phi-3.5-mini-instruct microsoft/Phi-3.5-mini-instruct
phi-4-mini-instruct microsoft/Phi-4-mini-instruct
phi-4 microsoft/phi-4
qwen2.5-coder-7b-instruct Qwen/Qwen2.5-Coder-7B-Instruct
qwen2.5-coder-32b-instruct Qwen/Qwen2.5-Coder-32B-Instruct
deepseek-r1-distill-qwen-14b deepseek-ai/DeepSeek-R1-Distill-Qwen-14B
deepseek-r1-distill-llama-8b deepseek-ai/DeepSeek-R1-Distill-Llama-8B
gemma-3-4b-instruct google/gemma-3-4b-it
gemma-3-27b-instruct google/gemma-3-27b-it
gpt-oss-20b openai/gpt-oss-20b
gpt-oss-120b openai/gpt-oss-120b
""".strip().splitlines()
)


def claims(file: Text) -> bool:
    """YAML of KAITO's group."""
    return file.path.lower().endswith((".yaml", ".yml")) and "kaito.sh/" in file.text


def servers(file: Text) -> Iterator[Server | Unreadable]:
    """One for each workspace that serves a model."""
    things, unreadable = resources(file)
    yield from unreadable
    config = pods.config_maps(things)
    for thing in things:
        if thing.get("kind").text in _KINDS and (thing.get("apiVersion").text or "").startswith("kaito.sh/"):
            part = thing.get("spec", "template") or thing
            for server in _workspace(file, thing, part, config):
                yield server._replace(replicas=thing.get("spec", "replicas").number or server.replicas)


def _workspace(file: Text, thing: Node, part: Node, config: Mapping[str, Node]) -> Iterator[Server]:
    inference, name = part.get("inference"), thing.get("metadata", "name").text
    preset = inference.get("preset", "name").word
    if preset:
        model = preset._replace(text=_PRESETS.get(preset.text.lower(), preset.text))
        gpus, said = _gpus(part.get("resource")), tuple(_settings(file, inference.get("config"), config))
        words = (*(model._replace(text=text) for text in ("vllm", "serve")), model, *_chosen(part.get("resource"), model), *said)
        other = thing.get("metadata", "annotations", "kaito.sh/runtime").text == "transformers"
        yield Server(
            KIND,
            name,
            file.path,
            inference.line,
            words[2:3] if other else words,
            engine="transformers" if other else "vllm",
            gpus=gpus,
            shared_memory=model._replace(text="set by KAITO"),
        )
    for pod in pods.pods(inference.get("template"), KIND, file.path, config):
        for server in pods.servers(pod._replace(name=name)):
            yield server._replace(gpus=_gpus(part.get("resource"))) if server.gpus.n_gpus is None else server


def _chosen(resource: Node, at: Word) -> Iterator[Word]:
    """What KAITO chooses: all cards of a machine for tensors, a stage for each machine, and the longest context that fits."""
    cards, machines = _per_machine(resource), resource.get("count").number or 1
    for name, value in (("tensor-parallel-size", cards), ("pipeline-parallel-size", machines)):
        if value > 1:
            yield from (at._replace(text=f"--{name}"), at._replace(text=str(value)))
    yield from (at._replace(text="--max-model-len"), at._replace(text="auto"))


def _per_machine(resource: Node) -> int:
    machine = instances.find(resource.get("instanceType").text or "")
    return (machine.n_gpus if machine else None) or resource.get("partition", "count").number or 1


def _gpus(resource: Node) -> Gpus:
    """The machine's type says how many cards it has; a slice or several machines are said beside it."""
    machine, partition = resource.get("instanceType").word, resource.get("partition")
    profile, machines = partition.get("profile").word, resource.get("count").number or 1
    names = (profile._replace(text=f"MIG-{profile.text}"),) if profile else (machine,) if machine and "<" not in machine.text else ()
    if profile or machines == 1:
        return Gpus(1 if profile else partition.get("count").number, names)
    return Gpus(machines * _per_machine(resource), names)


def _settings(file: Text, name: Node, here: Mapping[str, Node]) -> Iterator[Word]:
    """vLLM's settings in the ConfigMap; of another file's they stand where it is named."""
    key = name.text or ""
    text = here.get(key, MISSING).get(_FILE).word
    if text:
        yield from _flags(file.path, text)
        return
    for other in file.others(_FILE) if key else ():
        text = pods.config_maps(_nodes(list(documents(other)))).get(key, MISSING).get(_FILE).word
        if text:
            yield from (word._replace(line=name.line, column=name.column) for word in _flags(file.path, text))
            return


def _flags(path: str, text: Word) -> Iterator[Word]:
    for document in _nodes(list(within(path, text.text, text.line))):
        yield from flags(document.get("vllm").named())


def _nodes(found: Sequence[Node | Unreadable]) -> list[Node]:
    return [node for node in found if isinstance(node, Node)]
