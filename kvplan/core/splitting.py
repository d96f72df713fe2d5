"""Over how many devices the layers of a model can be split."""

from collections.abc import Iterator
from typing import NamedTuple

from kvplan.core.model import ModelSpec


class Heads(NamedTuple):
    """Query and KV heads of an attention layer; a latent counts one KV head, which every device keeps."""

    query: int
    kv: int


def heads(model: ModelSpec) -> Iterator[Heads]:
    """Those of each kind of layer."""
    for run in model.runs:
        for mixer in run.layer.mixers:
            if mixer.kind == "mla":
                yield Heads(mixer.n_heads, 1)
            elif mixer.kind in ("full", "sliding", "chunked", "cross"):
                yield Heads(mixer.n_heads, mixer.n_kv_heads)


def divides(model: ModelSpec, tp: int) -> bool:
    """Whether every layer can be split ``tp`` ways: whole query heads, KV heads split or repeated evenly, equal shares of dense layers.

    Source: vllm 0.33.0 config/model.py, verify_with_parallel_config; model_executor/models/llama.py, LlamaAttention;
    distributed/utils.py, divide.
    """
    if any(found.query % tp or (found.kv % tp and tp % found.kv) for found in heads(model)):
        return False
    return not any(ffn.intermediate % tp for run in model.runs for ffn in run.layer.ffns)


def widest(model: ModelSpec, n_devices: int) -> int:
    """The most ways, up to ``n_devices``, that every layer can be split; at least one."""
    return next((ways for ways in range(n_devices, 1, -1) if divides(model, ways)), 1)


def head_counts(model: ModelSpec) -> tuple[int, int]:
    """Query heads and KV heads of the first attention layer, zeros where there is none; latents count as many as queries."""
    for run in model.runs:
        for mixer in run.layer.mixers:
            if mixer.kind in ("full", "sliding", "chunked", "cross"):
                return mixer.n_heads, mixer.n_kv_heads
            if mixer.kind == "mla":
                return mixer.n_heads, mixer.n_heads
    return 0, 0
