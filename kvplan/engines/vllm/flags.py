"""The flags and variables that bear on memory: what kind of value each takes, and what people write for it."""

from typing import Literal

Kind = Literal["count", "whole", "human", "length", "share", "gib", "switch", "word", "json", "sizes", "limits"]
"""``count``: a whole number from 1. ``whole``: from 0. ``human``: also 32k and 32K. ``length``: also auto. ``share``: over 0,
at most 1. ``gib``: a number of GiB. ``switch``: --x and --no-x. ``sizes``: whole numbers. ``limits``: items per modality."""

KINDS: dict[str, Kind] = {
    "all2all-backend": "word",
    "async-scheduling": "switch",
    "attention-backend": "word",
    "attention-config": "json",
    "block-size": "count",
    "compilation-config": "json",
    "cpu-offload-gb": "gib",
    "cuda-graph-sizes": "sizes",
    "cudagraph-capture-sizes": "sizes",
    "data-parallel-size": "count",
    "decode-context-parallel-size": "count",
    "disable-hybrid-kv-cache-manager": "switch",
    "disable-sliding-window": "switch",
    "distributed-executor-backend": "word",
    "dtype": "word",
    "enable-chunked-prefill": "switch",
    "enable-expert-parallel": "switch",
    "enable-lora": "switch",
    "enable-prefix-caching": "switch",
    "enable-sleep-mode": "switch",
    "enforce-eager": "switch",
    "fully-sharded-loras": "switch",
    "gpu-memory-utilization": "share",
    "hf-overrides": "json",
    "kv-cache-dtype": "word",
    "kv-cache-memory-bytes": "human",
    "kv-events-config": "json",
    "kv-offloading-size": "gib",
    "kv-transfer-config": "json",
    "language-model-only": "switch",
    "limit-mm-per-prompt": "limits",
    "mamba-block-size": "count",
    "mamba-cache-dtype": "word",
    "mamba-cache-mode": "word",
    "mamba-ssm-cache-dtype": "word",
    "max-cudagraph-capture-size": "whole",
    "max-lora-rank": "count",
    "max-loras": "count",
    "max-model-len": "length",
    "max-num-batched-tokens": "human",
    "max-num-seqs": "count",
    "num-gpu-blocks-override": "whole",
    "num-speculative-tokens": "count",
    "optimization-level": "whole",
    "performance-mode": "word",
    "pipeline-parallel-size": "count",
    "prefill-context-parallel-size": "count",
    "quantization": "word",
    "rope-scaling": "json",
    "skip-mm-profiling": "switch",
    "spec-method": "word",
    "spec-model": "word",
    "spec-tokens": "count",
    "speculative-config": "json",
    "speculative-draft-tensor-parallel-size": "count",
    "speculative-model": "word",
    "swap-space": "gib",
    "tensor-parallel-size": "count",
}

UNMODELED = {
    "additional-config": "what a platform's plug-in makes of it is left out",
    "cpu-offload-params": "all weights are taken to be offloaded alike",
    "enable-dbo": "the buffers of a second micro-batch are left out",
    "enable-eplb": "redundant experts are left out",
    "enable-prompt-adapter": "prompt adapters are left out",
    "eplb-config": "redundant experts are left out",
    "kv-cache-dtype-skip-layers": "all layers are taken to keep the same element type",
    "kv-transfer-config": "the connector's buffers are left out",
    "mm-ipc-gpu-memory-gb": "what it takes off the pool is left out",
    "mm-processor-kwargs": "the profile run is taken to see the largest items that the model's files allow",
    "model-impl": "vLLM's own implementation is taken",
    "num-redundant-experts": "redundant experts are left out",
    "offload-group-size": "prefetched offloading is left out",
    "override-attention-dtype": "attention is taken to run in the model's element type",
    "quantization-config": "the checkpoint is taken as its own config describes it",
    "use-replayssm": "the buffers of replayed states are left out",
}
"""Flags that bear on memory in a way that no estimate here follows, and what it does instead."""

SHORT = {
    "tp": "tensor-parallel-size",
    "pp": "pipeline-parallel-size",
    "dp": "data-parallel-size",
    "dcp": "decode-context-parallel-size",
    "pcp": "prefill-context-parallel-size",
    "ep": "enable-expert-parallel",
    "q": "quantization",
    "sc": "speculative-config",
    "cc": "compilation-config",
    "ac": "attention-config",
    "dc": "diffusion-config",
    "n": "nnodes",
    "r": "node-rank",
    "asc": "api-server-count",
    "dpa": "data-parallel-address",
    "dpb": "data-parallel-backend",
    "dpe": "data-parallel-external-lb",
    "dph": "data-parallel-hybrid-lb",
    "dpl": "data-parallel-size-local",
    "dpm": "data-parallel-multi-port-external-lb",
    "dpn": "data-parallel-rank",
    "dpp": "data-parallel-rpc-port",
    "dpr": "data-parallel-start-rank",
    "spec-draft-tp": "speculative-draft-tensor-parallel-size",
}
"""Short forms, without the dash. Source: vllm 0.33.0 engine/arg_utils.py, add_cli_args; the last one 0.6.6."""

ALSO = {"device-memory-utilization": "gpu-memory-utilization"}
"""Other long spellings. Source: vllm 0.33.0 engine/arg_utils.py."""

_DTYPES = ("auto", "half", "float16", "bfloat16", "float", "float32")
_STATE_DTYPES = ("auto", "float32", "float16", "bfloat16")
CHOICES: dict[str, tuple[str, ...]] = {
    "dtype": _DTYPES,
    "mamba-cache-dtype": _STATE_DTYPES,
    "mamba-ssm-cache-dtype": _STATE_DTYPES,
    "mamba-cache-mode": ("none", "align", "all"),
    "performance-mode": ("balanced", "interactivity", "throughput"),
    "kv-cache-dtype": (
        *("auto", "float16", "bfloat16", "fp8", "fp8_e4m3", "fp8_e5m2", "fp8_inc", "fp8_ds_mla", "nvfp4_ds_mla"),
        *("turboquant_k8v4", "turboquant_4bit_nc", "turboquant_k3v4_nc", "turboquant_3bit_nc"),
        *("octave_k3v4", "octave_k3v3", "octave_k3v3_compact", "ultraquant_4bit"),
        *("int4_per_token_head", "int8_per_token_head", "fp8_per_token_head", "nvfp4", "nvfp4_4over6"),
    ),
}
"""Values of flags that take one of a few. Source: vllm 0.33.0 config/cache.py, config/model.py, config/vllm.py."""

VARIABLES: dict[str, Kind] = {
    "VLLM_ALLOW_LONG_MAX_MODEL_LEN": "switch",
    "VLLM_ATTENTION_BACKEND": "word",
    "VLLM_MEMORY_PROFILER_ESTIMATE_CUDAGRAPHS": "switch",
    "VLLM_PP_LAYER_PARTITION": "sizes",
    "VLLM_USE_V1": "switch",
    "VLLM_USE_V2_MODEL_RUNNER": "switch",
}
"""Environment variables that bear on memory. Source: vllm 0.33.0 envs.py; the backend's up to 0.14.1, V1's up to 0.10.2."""
