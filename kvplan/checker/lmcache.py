"""LMCache as vLLM's production stack sets it up.

Source: vllm-project/production-stack a6c01db helm/templates/deployment-vllm-multi.yaml,
operator/internal/controller/vllmruntime_controller.go.
"""

from collections.abc import Iterator

from kvplan.checker.server import Word
from kvplan.checker.yaml_nodes import Node


def connector(cache: Node, *, legacy: bool) -> Iterator[Word]:
    """The flag by which vLLM gets its connector; ``legacy`` is the engine before V1."""
    if cache.get("enabled").truth:
        name = "LMCacheConnector" if legacy else "LMCacheConnectorV1"
        role = cache.get("kvRole").text or "kv_both"
        yield Word("--kv-transfer-config", cache.line, cache.column)
        yield Word(f'{{"kv_connector":"{name}","kv_role":"{role}"}}', cache.line, cache.column)


def variables(cache: Node) -> dict[str, Word]:
    """Variables that its settings become. Sizes are in GB; with disaggregated prefill nothing is kept on the host."""
    env = {}
    devices, size = cache.get("cudaVisibleDevices").word, cache.get("cpuOffloadingBufferSize").word
    if devices:
        env["CUDA_VISIBLE_DEVICES"] = devices
    if size and cache.get("enabled").truth and not cache.get("enablePD").truth:
        env |= {"LMCACHE_LOCAL_CPU": size._replace(text="True"), "LMCACHE_MAX_LOCAL_CPU_SIZE": size}
    return env
