"""VLLMRuntime, the custom resource of vLLM's production stack.

Source: vllm-project/production-stack a6c01db operator/api/v1alpha1/vllmruntime_types.go,
operator/internal/controller/vllmruntime_controller.go (which fields become which flags; zero and empty are not said; prefix caching and
chunked prefill are off where they aren't asked for).
"""

from collections.abc import Iterator

from kvplan.checker import lmcache, pods, selectors
from kvplan.checker.keyed import flags
from kvplan.checker.resources import resources
from kvplan.checker.server import Server, Text, Unreadable, Word
from kvplan.checker.yaml_nodes import Node

KIND = "vllm-runtime"
_FLAGS = {
    "maxModelLen": "max-model-len",
    "dtype": "dtype",
    "maxNumSeqs": "max-num-seqs",
    "tensorParallelSize": "tensor-parallel-size",
    "gpuMemoryUtilization": "gpu-memory-utilization",
    "maxLoras": "max-loras",
}
_SWITCHES = {"enableChunkedPrefill": "enable-chunked-prefill", "enablePrefixCaching": "enable-prefix-caching"}


def claims(file: Text) -> bool:
    """YAML with the resource's kind."""
    return file.path.lower().endswith((".yaml", ".yml")) and "VLLMRuntime" in file.text


def servers(file: Text) -> Iterator[Server | Unreadable]:
    """One for each resource."""
    things, unreadable = resources(file)
    yield from unreadable
    for thing in things:
        if thing.get("kind").text == "VLLMRuntime":
            yield _server(file.path, thing)


def _server(path: str, thing: Node) -> Server:
    spec = thing.get("spec")
    model, config, deployment, cache = (spec.get(key) for key in ("model", "vllmConfig", "deploymentConfig", "lmCacheConfig"))
    url, name = model.get("modelURL").word, deployment.get("image", "name").word
    at = url or Word("", model.line)
    resources = deployment.get("resources")
    terms = [selectors.expressions(term) for term in deployment.get("nodeSelectorTerms").items]
    return Server(
        KIND,
        thing.get("metadata", "name").text,
        path,
        model.line,
        (at._replace(text="vllm"), at._replace(text="serve"), *((url,) if url else ()), *_flags(model, config, cache)),
        {**pods.environment(config, {}), **lmcache.variables(cache)},
        name,
        "vllm",
        gpus=selectors.chosen(resources.get("gpu").number, resources.get("gpuType").word, terms),
        replicas=deployment.get("replicas").number or 1,
        host_memory=resources.get("memory").word,
        shared_memory=deployment.get("shmSize").word,
    )


def _flags(model: Node, config: Node, cache: Node) -> Iterator[Word]:
    said = (*model.named(), *config.named())
    yield from flags(((key, value) for key, value in said if value.number != 0), _FLAGS)
    if model.get("enableLoRA").truth:
        yield Word("--enable-lora", model.get("enableLoRA").line)
    for key, name in _SWITCHES.items():
        value = config.get(key)
        yield Word(f"--{'' if value.truth else 'no-'}{name}", value.line if value else config.line)
    yield from config.get("extraArgs").words()
    yield from lmcache.connector(cache, legacy=config.get("v1").truth is not True)
