"""Options of TensorRT-LLM's LLM API, as ``trtllm-serve --extra_llm_api_options FILE`` takes them: the model stands on the command line.

Source: TensorRT-LLM 1.0 docs/source/llm-api, tensorrt_llm/llmapi/llm_args.py.
"""

import re
from collections.abc import Iterator

from kvplan.checker import keyed
from kvplan.checker.server import Server, Text, Unreadable, Word
from kvplan.checker.yaml_nodes import Node, documents

KIND = "trtllm-options"
_EXTENSIONS = (".yaml", ".yml")
_OURS = re.compile(
    r"^(?:kv_cache_config|cuda_graph_config|moe_config|kv_cache_free_gpu_memory_fraction|enable_attention_dp)[ \t]*:", re.MULTILINE
)
_TELLING = ("kv_cache_config", "cuda_graph_config", "moe_config", "enable_attention_dp", "enable_chunked_prefill", "max_num_tokens")
_CACHE = {"free_gpu_memory_fraction": "free-gpu-memory-fraction", "dtype": "kv-cache-dtype", "max_tokens": "max-tokens"}


def claims(file: Text) -> bool:
    """YAML with one of the options that only it has at the left."""
    return file.path.lower().endswith(_EXTENSIONS) and _OURS.search(file.text) is not None


def servers(file: Text) -> Iterator[Server | Unreadable]:
    """The server that the options are for."""
    for document in documents(file):
        if isinstance(document, Unreadable):
            yield document
        elif sum(bool(document.get(key)) for key in _TELLING) >= 2:
            yield Server(KIND, None, file.path, document.line, tuple(_words(document)), engine="tensorrt-llm")


def _words(document: Node) -> Iterator[Word]:
    """Plain options as flags, those of the cache by their flags' names; how much the graphs hold is no limit of the server."""
    for key, value in document.named():
        if value.kind == "scalar" and value:
            yield from keyed.flag(keyed.kebab(key.text), key, value)
    yield from keyed.flags(document.get("kv_cache_config").named(), _CACHE)
