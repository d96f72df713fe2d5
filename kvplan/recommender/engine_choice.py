"""Which engine people run on such hardware, where nobody named one."""

from typing import NamedTuple

from kvplan.core.device import Node
from kvplan.core.model import ModelSpec

_VOLTA = (7, 0)
_SHARE = 0.9


class Choice(NamedTuple):
    """Engines to try in this order, and why the first is the first."""

    engines: tuple[str, ...]
    why: str


def choice(model: ModelSpec, node: Node) -> Choice:
    """vLLM on NVIDIA's and AMD's cards; llama.cpp for GGUF files, on shared memory, on processors, on unequal cards, and where a card
    for desktops holds the weights only in fewer bits."""
    if model.checkpoint is not None and model.checkpoint.format == "gguf":
        return Choice(("llama.cpp",), "it runs GGUF files as they lie")
    why = _against_vllm(model, node)
    return Choice(("llama.cpp",), why) if why else Choice(("vllm", "llama.cpp"), "the usual server on such cards")


def _against_vllm(model: ModelSpec, node: Node) -> str:
    if not node.gpus:
        return "it runs on a processor alone"
    gpu = node.gpus[0]
    if gpu.unified:
        return "it is the usual one where processor and accelerator share their memory"
    if any(other.id != gpu.id for other in node.gpus):
        return "it splits a model over unequal cards; vLLM treats all as the smallest"
    if gpu.vendor == "NVIDIA" and gpu.compute_capability is not None and gpu.compute_capability < _VOLTA:
        return "vLLM needs compute capability 7.0"
    if gpu.vendor == "Intel":
        return "it is the usual one on Intel's cards"
    room = sum(int(card.cuda_bytes * _SHARE) for card in node.gpus)
    if gpu.kind == "consumer" and model.weight_bytes > room:
        return "the weights fit such cards only in fewer bits, and GGUFs in every type are published"
    return ""
