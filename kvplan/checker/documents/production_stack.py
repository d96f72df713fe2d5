"""Helm values of vLLM's production stack: a server for each ``servingEngineSpec.modelSpec[]``.

Source: vllm-project/production-stack a6c01db helm/templates (deployment-vllm-multi.yaml, ray-cluster.yaml, _helpers.tpl): which keys
become which flags, what the templates say by themselves, and that keys they don't know are dropped.
"""

from collections.abc import Iterator

from kvplan.checker import lmcache, pods, selectors, templates
from kvplan.checker.embedded import blocks
from kvplan.checker.keyed import flag, flags
from kvplan.checker.server import Gpus, Server, Text, Unreadable, Word
from kvplan.checker.yaml_nodes import MISSING, Node, documents

KIND = "production-stack"
_SPEC = "servingEngineSpec"
_FLAGS = {
    "maxModelLen": "max-model-len",
    "dtype": "dtype",
    "tensorParallelSize": "tensor-parallel-size",
    "pipelineParallelSize": "pipeline-parallel-size",
    "maxNumSeqs": "max-num-seqs",
    "gpuMemoryUtilization": "gpu-memory-utilization",
    "maxLoras": "max-loras",
    "enableChunkedPrefill": "enable-chunked-prefill",
    "runner": "runner",
    "convert": "convert",
}
_SHARED = "20Gi"  # where shmSize is not said


def claims(file: Text) -> bool:
    """YAML with the chart's key, at the top, below a parent chart's, or in an application's values."""
    return file.path.lower().endswith((".yaml", ".yml")) and _SPEC in file.text


def servers(file: Text) -> Iterator[Server | Unreadable]:
    """One for each model that is not switched off."""
    for document in documents(templates.readable(file)):
        if isinstance(document, Unreadable):
            yield document
            continue
        for spec in (spec for part in (document, *blocks(document, file.path, f"{_SPEC}:")) for spec in _specs(part)):
            if spec.get("enableEngine").truth is not False:
                for model in spec.get("modelSpec").items:
                    if model.get("enabled").truth is not False and model.get("modelURL"):
                        yield _server(file.path, spec, model)


def _specs(node: Node) -> Iterator[Node]:
    for key, value in node.named():
        if key.text == _SPEC:
            yield value
        else:
            yield from _specs(value)
    for item in node.items:
        yield from _specs(item)


def _server(path: str, spec: Node, model: Node) -> Server:
    config, cache = model.get("vllmConfig"), model.get("lmcacheConfig")
    ray = model.get("raySpec") if model.get("raySpec", "enabled").truth else MISSING
    url = model.get("modelURL").word
    at = model.get("name").word or url or Word("", model.line)
    repository, tag = model.get("repository").word, model.get("tag").text
    image = repository._replace(text=f"{repository.text}:{tag}" if tag else repository.text) if repository else None
    command = (at._replace(text="vllm"), at._replace(text="serve"), *((url,) if url else ()), *_flags(model, config, ray))
    return Server(
        KIND,
        model.get("name").text,
        path,
        model.line,
        command,
        {**pods.environment(spec, {}), **pods.environment(model, {}), **lmcache.variables(cache)},
        image,
        "vllm",
        gpus=_gpus(model, ray),
        replicas=1 if ray else model.get("replicaCount").number or 1,
        host_memory=model.get("limitMemory").word,
        shared_memory=model.get("shmSize").word or at._replace(text=_SHARED) if config.get("tensorParallelSize") else None,
    )


def _flags(model: Node, config: Node, ray: Node) -> Iterator[Word]:
    """The template's flags in its order; extraArgs come as they are, and behind."""
    yield from flags(config.named(), _FLAGS)
    for key, value in model.named():
        if key.text == "enableLoRA" and value.truth:
            yield key._replace(text="--enable-lora")
    prefix = config.get("enablePrefixCaching")
    at = Word("", prefix.line if prefix else config.line, config.column)
    if prefix.truth:
        yield at._replace(text="--enable-prefix-caching")
    elif config and not ray:
        yield at._replace(text="--no-enable-prefix-caching")
    if ray:
        yield from flag("distributed-executor-backend", Word("", ray.line), Node("scalar", ray.line, said="ray"))
    yield from config.get("extraArgs").words()
    yield from lmcache.connector(model.get("lmcacheConfig"), legacy=config.get("v0").text == "1")


def _gpus(model: Node, ray: Node) -> Gpus:
    """A pod's cards; of a Ray cluster those of its head and of all its workers."""
    n_gpus = model.get("requestGPU").number
    if ray:
        n_gpus = (ray.get("headNode", "requestGPU").number or 0) + (n_gpus or 0) * (model.get("replicaCount").number or 1)
    resource = model.get("requestGPUType").word
    cards = selectors.chosen(n_gpus, resource, [selectors.expressions(term) for term in model.get("nodeSelectorTerms").items])
    part = model.get("requestGPUMem").number  # of a card that is shared by memory
    return cards._replace(memory_mib=part) if part else cards
