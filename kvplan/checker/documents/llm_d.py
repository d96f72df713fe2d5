"""llm-d: scenarios of llm-d-benchmark and values of the modelservice chart. Its kustomize patches are Kubernetes manifests.

Source: llm-d/llm-d-benchmark 8bc9f1d config/scenarios (``scenario[]`` with ``common``, and ``decode``, ``prefill`` and ``standalone``
there or below ``modelservice``; the scripts' variables are named after the keys); llm-d-incubation/llm-d-modelservice
charts/llm-d-modelservice/values.yaml (``modelArtifacts``, ``decode.containers[]`` with modelCommand and args, ``parallelism``).
"""

import re
from collections.abc import Iterator

from kvplan.checker import pods, selectors, templates
from kvplan.checker.keyed import flags
from kvplan.checker.server import Gpus, Server, Text, Unreadable, Word
from kvplan.checker.yaml_nodes import MISSING, Node, documents

KIND = "llm-d"
_SHAPE = re.compile(r"^(?:scenario|modelArtifacts):", re.MULTILINE)
_PARTS = ("decode", "prefill", "standalone")
_VARIABLES = {
    "MODEL_NAME": ("name",),
    "VLLM_MAX_MODEL_LEN": ("maxModelLen",),
    "VLLM_BLOCK_SIZE": ("blockSize",),
    "VLLM_ACCELERATOR_MEM_UTIL": ("gpuMemoryUtilization",),
    "VLLM_MAX_NUM_SEQ": ("maxNumSeq", "maxNumSeqs"),
    "VLLM_MAX_NUM_BATCHED_TOKENS": ("maxNumBatchedTokens",),
}
_FLAGS = {
    "maxModelLen": "max-model-len",
    "blockSize": "block-size",
    "gpuMemoryUtilization": "gpu-memory-utilization",
    "maxNumSeq": "max-num-seqs",
    "maxNumSeqs": "max-num-seqs",
    "maxNumBatchedTokens": "max-num-batched-tokens",
}
_SIZES = {"tensor": "tensor-parallel-size", "data": "data-parallel-size"}


def claims(file: Text) -> bool:
    """YAML with a list of scenarios, or the chart's values."""
    if not file.path.lower().endswith((".yaml", ".yml")) or ("decode:" not in file.text and "standalone:" not in file.text):
        return False
    return _SHAPE.search(file.text) is not None


def servers(file: Text) -> Iterator[Server | Unreadable]:
    """One for each part that is not switched off."""
    for document in documents(templates.readable(file)):
        if isinstance(document, Unreadable):
            yield document
            continue
        if document.get("modelArtifacts"):
            for name in _PARTS[:2]:
                yield from _release(file.path, document, name)
        for scenario in document.get("scenario").items:
            for name in _PARTS:
                part = scenario.get(name) or scenario.get("modelservice", name)
                if _runs(scenario, name, part):
                    yield _server(file.path, name, scenario.get("common"), part)


def _runs(scenario: Node, name: str, part: Node) -> bool:
    """Whether it is deployed: the standalone server only where it is asked for."""
    off = part.get("enabled").truth is False or part.get("replicas").number == 0
    if name == "standalone":
        return part.get("enabled").truth is True
    return bool(part) and not off and scenario.get("modelservice", "enabled").truth is not False


def _server(path: str, name: str, common: Node, part: Node) -> Server:
    model = {**dict(_pairs(common.get("model"))), **dict(_pairs(part.get("model")))}
    identity = next((model[key].word for key in ("huggingfaceId", "name") if model.get(key)), None)
    script = part.get("vllm", "customCommand").word
    parallelism = part.get("parallelism") or common.get("parallelism")
    env = {variable: value for variable, keys in _VARIABLES.items() for key in keys if key in model and (value := model[key].word)}
    for variable in ("TP_SIZE", "VLLM_TENSOR_PARALLELISM"):
        if word := parallelism.get("tensor").word:
            env[variable] = word
    at = script or Word("", part.line)
    if script:
        words: tuple[Word, ...] = (at._replace(text="bash"), at._replace(text="-c"), script)
    else:
        said = ((Word(key, value.line), value) for key, value in model.items())
        sizes = flags(parallelism.named(), _SIZES)
        words = (at._replace(text="vllm"), at._replace(text="serve"), *((identity,) if identity else ()), *flags(said, _FLAGS), *sizes)
    return Server(
        KIND,
        name,
        path,
        at.line,
        words,
        {**env, **pods.variables(part.get("extraEnvVars"), {})},
        model=identity,
        gpus=_gpus(common, part),
        replicas=part.get("replicas").number or 1,
        host_memory=part.get("resources", "limits", "memory").word,
        shared_memory=_shared(common, at),
    )


def _pairs(node: Node) -> Iterator[tuple[str, Node]]:
    yield from ((key.text, value) for key, value in node.named())


def _shared(common: Node, at: Word) -> Word | None:
    """Scenarios mount 16 GiB where they don't say it otherwise."""
    volumes = common.get("vllmCommon", "volumes").items
    sizes = (v.get("emptyDir", "sizeLimit").word for v in volumes if v.get("emptyDir", "medium").text == "Memory")
    return next((size for size in sizes if size), at._replace(text="16Gi"))


def _gpus(common: Node, part: Node) -> Gpus:
    count = part.get("accelerator", "count").number
    for where in (part, common):
        label = where.get("acceleratorType", "labelValue").word
        if label:
            return Gpus(count, (label,))
    selector = common.get("affinity")
    chosen = selector.get("nodeSelector") if selector.get("enabled").truth is not False else MISSING
    return selectors.chosen(count, None, [{key.text: (value.word,) for key, value in chosen.named() if value.word}])


def _release(path: str, values: Node, name: str) -> Iterator[Server]:
    """A server of the chart: its first container, started as modelCommand says."""
    part, artifacts = values.get(name), values.get("modelArtifacts")
    container = next(iter(part.get("containers").items), MISSING)
    if part.get("create").truth is False or not container:
        return
    uri = artifacts.get("uri").word or artifacts.get("name").word
    model = uri._replace(text=uri.text.removeprefix("hf://")) if uri else None
    server = pods.of_container(
        pods.Pod(part, KIND, path, name, part.get("replicas").number or 1), container, selectors.gpus(part, container)
    )
    if container.get("modelCommand").text == "vllmServe":
        at = model or Word("", container.line)
        sizes = flags(part.get("parallelism").named(), _SIZES)
        words = (at._replace(text="vllm"), at._replace(text="serve"), *((model,) if model else ()), *sizes, *server.command)
        server = server._replace(command=words)
    yield server._replace(name=name, model=model)
