"""Ray Serve LLM: every LLMConfig, in ``applications[].args.llm_configs``, in a RayService, in prefill_config and decode_config, or alone.

Source: docs.ray.io serve/llm/user-guides/configuration (``engine_kwargs`` are the engine's own arguments; without model_source the id is
the repository; a bundle of the placement group for each card, tensor × pipeline of them where none are listed).
"""

from collections.abc import Iterator

from kvplan.checker import pods, selectors, templates
from kvplan.checker.keyed import flags
from kvplan.checker.server import Gpus, Server, Text, Unreadable, Word
from kvplan.checker.yaml_nodes import Node, documents, within

KIND = "ray-serve"
_KEY = "model_loading_config"
_ENGINES = {"vllm": "vllm", "sglang": "sglang"}


def claims(file: Text) -> bool:
    """YAML with the key that every LLMConfig has."""
    return file.path.lower().endswith((".yaml", ".yml")) and _KEY in file.text


def servers(file: Text) -> Iterator[Server | Unreadable]:
    """One for each LLMConfig, in the file's order."""
    for document in documents(templates.readable(file)):
        if isinstance(document, Unreadable):
            yield document
            continue
        names = tuple(_cards(document.get("spec", "rayClusterConfig")))
        for found in _inside(file.path, document):
            alone = isinstance(found, Server) and not found.gpus.names
            yield found._replace(gpus=found.gpus._replace(names=names)) if alone and isinstance(found, Server) else found


def _inside(path: str, node: Node) -> Iterator[Server | Unreadable]:
    """Configurations below a node, and in texts that are files of their own: serveConfigV2, what ConfigMaps hold."""
    if node.get(_KEY):
        yield _server(path, node)
        return
    for _, value in node.named():
        word = value.word
        if word and value.style in ("literal", "folded") and f"{_KEY}:" in word.text:
            for document in within(path, word.text, word.line):
                yield from [document] if isinstance(document, Unreadable) else _inside(path, document)
        else:
            yield from _inside(path, value)
    for item in node.items:
        yield from _inside(path, item)


def _cards(cluster: Node) -> Iterator[Word]:
    """The cards of a RayService's workers, each named once."""
    for pod in pods.pods(cluster.get("workerGroupSpecs"), KIND, "", {}):
        for container in pod.spec.get("containers").items:
            found = selectors.gpus(pod.spec, container)
            yield from found.names if found.n_gpus else ()


def _server(path: str, config: Node) -> Server:
    loading, kwargs, deployment = config.get(_KEY), config.get("engine_kwargs"), config.get("deployment_config")
    source = loading.get("model_source").word or loading.get("model_source", "bucket_uri").word
    identity = loading.get("model_id").word
    model = source or identity
    at = model or Word("", config.line)
    engine = _ENGINES.get((config.get("llm_engine").text or "vllm").lower(), "vllm")
    head = ("vllm", "serve") if engine == "vllm" else ("python", "-m", "sglang.launch_server", "--model-path")
    words = (*(at._replace(text=text) for text in head), *((model,) if model else ()), *flags(kwargs.named()))
    least = deployment.get("autoscaling_config", "min_replicas").number
    return Server(
        KIND,
        identity.text if identity and source else None,
        path,
        config.line,
        words,
        {key.text: value.word for key, value in config.get("runtime_env", "env_vars").named() if value.word},
        engine=engine,
        gpus=_gpus(config, kwargs),
        replicas=deployment.get("num_replicas").number or least or 1,
    )


def _gpus(config: Node, kwargs: Node) -> Gpus:
    name = config.get("accelerator_type").word or config.get("deployment_config", "ray_actor_options", "accelerator_type").word
    bundles = config.get("placement_group_config", "bundles").items or config.get("deployment_config", "placement_group_bundles").items
    listed = [bundle.get("GPU").number for bundle in bundles]
    sizes = [kwargs.get(f"{kind}_parallel_size").number for kind in ("tensor", "pipeline")]
    n_gpus = sum(number or 0 for number in listed) or None
    if n_gpus is None and any(sizes):
        n_gpus = (sizes[0] or 1) * (sizes[1] or 1)
    return Gpus(n_gpus, (name,) if name else ())
