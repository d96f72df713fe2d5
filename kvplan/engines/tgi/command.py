"""How text-generation-inference is started, and the command that gives settings back."""

import re
from collections.abc import Iterator, Sequence

from kvplan.core import shell
from kvplan.core.server_command import Speech, unlike, words
from kvplan.core.server_line import Program
from kvplan.engines.tgi.flags import UNMODELED, grammar, variables
from kvplan.engines.tgi.settings import KV_FLAG, Settings

_TAG = re.compile(r".*:v?(\d+\.\d+(?:\.\d+)?)(?![\d.]).*")
_IMAGE = re.compile(r"(?:.*/)?[\w.-]*(?:text-generation-inference|text-generation-launcher|huggingface-pytorch-tgi)[\w.-]*(?::.*)?(?:@.*)?")


def begins(words: Sequence[str]) -> int:
    """The launcher."""
    return int(shell.base(words[0]) == "text-generation-launcher")


def version(image: str) -> str | None:
    """The version in an image's tag."""
    found = _TAG.fullmatch(image.partition("@")[0])
    return found[1] if found else None


def _is_ours(image: str) -> bool:
    return _IMAGE.fullmatch(image) is not None


SPEECH = Speech(
    title="TGI",
    program=Program("tgi", begins, _is_ours, version, "text-generation-launcher --model-id MODEL --num-shard 2"),
    grammar=grammar,
    unmodeled=UNMODELED,
    variables=variables(),
)


def spelled(settings: Settings) -> tuple[str, ...]:
    """The command that gives these settings on any hardware."""
    return ("text-generation-launcher", "--model-id", settings.model, *words(_flags(settings)))


def _flags(settings: Settings) -> Iterator[tuple[str, object]]:
    yield "num-shard", settings.num_shard
    yield "dtype", settings.dtype
    yield from unlike(
        ("quantize", settings.quantization, None),
        ("kv-cache-dtype", KV_FLAG.get(settings.kv_cache_dtype), None),
        ("cuda-memory-fraction", settings.cuda_memory_fraction, 1.0),
        ("max-input-tokens", settings.max_input_tokens, None),
        ("max-total-tokens", settings.max_total_tokens, None),
        ("max-batch-size", settings.max_batch_size, None),
        ("max-concurrent-requests", settings.max_concurrent_requests, 128),
        ("cuda-graphs", ",".join(map(str, settings.cuda_graphs)) or "0", "1,2,4,8,16,32"),
    )
    yield "max-batch-prefill-tokens", settings.max_batch_prefill_tokens
