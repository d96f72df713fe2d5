"""What every file mentions, somewhere, that starts an LLM server: a cheap look before anything is parsed."""

import re

MENTIONS = re.compile(
    r"vllm|llama|sglang|ollama|text-generation-(?:inference|launcher)|trtllm|tensorrt-?llm|dynamo\.|"
    r"--(?:max[-_]model[-_]len|gpu[-_]memory[-_]utilization|tensor[-_]parallel[-_]size|n[-_]gpu[-_]layers|mem[-_]fraction[-_]static)",
    re.IGNORECASE,
)

STARTS = re.compile(
    r"vllm[\s\"']+serve|vllm\.entrypoints|vllm/|vllm-|llama-server|llama-cli|llama-?\.?_?cpp|llama[\s\"']+serve|LLAMA_ARG_|"
    r"ollama[\s\"']+(?:serve|run)|ollama/ollama|sglang|text-generation-(?:inference|launcher)|trtllm-serve|tensorrt-?llm|dynamo\.|"
    r"\.gguf|--(?:max[-_]model[-_]len|gpu[-_]memory[-_]utilization|mem[-_]fraction[-_]static)",
    re.IGNORECASE,
)
"""The same for scripts, which may name an engine for many other reasons: what one has to write to start it."""

_TEXTS = (
    *("vllm", "llama", "sglang", "text-generation-", "trtllm", "tensorrt-llm", "tensorrtllm", "dynamo.", "max-model-len", "max_model_len"),
    *("gpu-memory-utilization", "gpu_memory_utilization", "tensor-parallel-size", "tensor_parallel_size", "n-gpu-layers", "n_gpu_layers"),
    *("mem-fraction-static", "mem_fraction_static"),
)


def mentioned(text: str) -> bool:
    """Whether a text holds any of it: much faster than the pattern on the megabytes of a cluster's definitions."""
    low = text.lower()
    return any(said in low for said in _TEXTS)
