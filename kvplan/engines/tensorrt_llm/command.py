"""How TensorRT-LLM is started, and the command that gives settings back."""

import re
from collections.abc import Iterator, Sequence

from kvplan.core import shell
from kvplan.core.server_command import Speech, unlike, words
from kvplan.core.server_line import Program
from kvplan.engines.tensorrt_llm.flags import UNMODELED, grammar
from kvplan.engines.tensorrt_llm.settings import KV_FLAG, Settings

_TAG = re.compile(r".*:v?(\d+\.\d+\.\d+(?:rc\d+)?)(?![\d.]).*")


def begins(words: Sequence[str]) -> int:
    """``trtllm-serve`` with or without its verb, and Dynamo's worker."""
    if words[0] == "dynamo.trtllm":
        return 1
    return 0 if shell.base(words[0]) != "trtllm-serve" else 2 if list(words[1:2]) == ["serve"] else 1


def version(image: str) -> str | None:
    """The version in the tag of NVIDIA's own image."""
    found = _TAG.fullmatch(image.partition("@")[0])
    return found[1] if found and "tensorrt-llm" in image and "dynamo" not in image else None


def _is_ours(image: str) -> bool:
    return "tensorrt-llm" in image or "trtllm" in image


SPEECH = Speech(
    title="TensorRT-LLM",
    program=Program("tensorrt-llm", begins, _is_ours, version, "trtllm-serve MODEL --tp_size 4"),
    grammar=grammar,
    unmodeled=UNMODELED,
    variables={},
)


def spelled(settings: Settings) -> tuple[str, ...]:
    """The command that gives these settings; what only its file of options can say stands as flags of those names."""
    return ("trtllm-serve", settings.model, *words(_flags(settings), dash="_"))


def _flags(settings: Settings) -> Iterator[tuple[str, object]]:
    yield "tp-size", settings.tp
    yield "free-gpu-memory-fraction", settings.free_gpu_memory_fraction
    yield "max-batch-size", settings.max_batch_size
    yield "max-num-tokens", settings.max_num_tokens
    yield from unlike(
        ("backend", settings.backend, "pytorch"),
        ("dtype", settings.dtype, None),
        ("kv-cache-dtype", KV_FLAG.get(settings.kv_cache_dtype), None),
        ("pp-size", settings.pp, 1),
        ("max-seq-len", settings.max_seq_len, None),
        ("max-beam-width", settings.max_beam_width, 1),
        ("max-tokens", settings.max_tokens, None),
        ("tokens-per-block", settings.tokens_per_block, 32),
        ("cuda-graph-max-batch-size", settings.graph_batches, min(128, settings.max_batch_size)),
    )
    yield "enable-attention-dp", settings.attention_dp
