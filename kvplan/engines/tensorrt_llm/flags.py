"""The flags of trtllm-serve and the options of its file that bear on memory.

Source: TensorRT-LLM tensorrt_llm/commands/serve.py and llmapi/llm_args.py (KvCacheConfig, CudaGraphConfig) of 2025 and 2026.
"""

from collections.abc import Iterator, Mapping
from functools import cache

from kvplan.core.flag_words import Grammar, Kind, table
from kvplan.engines.tensorrt_llm.rules import VERSIONS

KINDS: dict[str, Kind] = {
    "backend": "word",
    "cuda-graph-max-batch-size": "whole",
    "dtype": "word",
    "enable-attention-dp": "switch",
    "ep-size": "count",
    "free-gpu-memory-fraction": "share",
    "kv-cache-dtype": "word",
    "max-batch-size": "count",
    "max-beam-width": "count",
    "max-num-tokens": "count",
    "max-seq-len": "count",
    "max-tokens": "count",
    "pp-size": "count",
    "tokens-per-block": "count",
    "tp-size": "count",
}
SAME = {
    "config": "extra-llm-api-options",
    "extra-engine-args": "extra-llm-api-options",
    "kv-cache-config.dtype": "kv-cache-dtype",
    "kv-cache-config.free-gpu-memory-fraction": "free-gpu-memory-fraction",
    "kv-cache-config.max-tokens": "max-tokens",
    "kv-cache-config.tokens-per-block": "tokens-per-block",
    "kv-cache-free-gpu-memory-fraction": "free-gpu-memory-fraction",
    "model-path": "model",
    "moe-expert-parallel-size": "ep-size",
    "pipeline-parallel-size": "pp-size",
    "tensor-parallel-size": "tp-size",
}
UNMODELED = {
    "context-parallel-size": "all tokens are taken to lie on every rank",
    "cp-size": "all tokens are taken to lie on every rank",
    "host-cache-size": "what it keeps on the host is left out",
    "lora-config": "the buffers of adapters are left out",
    "max-attention-window": "all layers are taken to keep all tokens",
    "max-gpu-total-bytes": "the pool is taken to follow the fraction",
    "speculative-config": "the drafter's layers and cache are left out",
}
"""Settings that bear on memory in a way that no estimate here follows, and what it does instead."""

_TABLE = """
0.17-: backend chat-template cluster-size context-parallel-size cp-size custom-module-dirs custom-tokenizer
  disable-kv-cache-reuse! disagg-cluster-uri enable-chunked-prefill! ep-size extra-llm-api-options
  fail-fast-on-attention-window-too-large! free-gpu-memory-fraction gpus-per-node host log-level max-batch-size max-beam-width
  max-num-tokens max-seq-len media-io-kwargs metadata-server-config-file model moe-cluster-parallel-size num-postprocess-workers
  otlp-traces-endpoint port pp-size reasoning-parser revision server-role served-model-name tokenizer tool-parser tp-size
  trust-remote-code!
0.17-: attn-backend cache-transceiver-config cuda-graph-config cuda-graph-max-batch-size disable-overlap-scheduler? dtype
  enable-attention-dp? enable-block-reuse? enable-autotuner? enable-iter-perf-stats? enable-layerwise-nvtx-marker? host-cache-size
  kv-cache-dtype lora-config max-attention-window max-gpu-total-bytes max-tokens moe-backend moe-config print-iter-log? quant-config
  scheduler-config speculative-config stream-interval tokens-per-block torch-compile-config
"""
"""Flags, then options of the file, which kvplan takes as flags too."""

_NESTED = {
    "kv_cache_config": ("dtype", "kv-cache-dtype"),
    "cuda_graph_config": ("max_batch_size", "cuda-graph-max-batch-size"),
    "moe_config": ("backend", "moe-backend"),
}
"""Objects of the file, and the one of their keys whose plain name means something else."""


@cache
def grammar() -> Grammar:
    """How click reads them: in full, underscores or dashes, the model as the first bare word."""
    return Grammar("tensorrt-llm", table(_TABLE), KINDS, SAME, VERSIONS[-1], positional=True)


def flat(content: Mapping[str, object]) -> Iterator[tuple[str, object]]:
    """The options of a file as flags: those of the cache and of the graphs by their own names."""
    for key, value in content.items():
        if key == "cuda_graph_config" and value is None:
            yield "cuda-graph-max-batch-size", 0
        elif key in _NESTED and isinstance(value, Mapping):
            inner, flag = _NESTED[key]
            yield from ((flag if name == inner else name.replace("_", "-"), each) for name, each in _plain(key, value))
        elif not isinstance(value, Mapping):
            yield key.replace("_", "-"), value


def _plain(key: str, value: Mapping[str, object]) -> Iterator[tuple[str, object]]:
    """The options of one object that bear on memory, of the cache all that are plain."""
    for name, each in value.items():
        if not isinstance(each, Mapping) and (key == "kv_cache_config" or name == _NESTED[key][0]):
            yield name, each
