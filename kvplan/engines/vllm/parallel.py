"""Over how many devices a model can be split."""

from collections.abc import Iterator
from typing import NamedTuple

from kvplan.core.errors import RequestError
from kvplan.core.model import ModelSpec
from kvplan.engines.vllm.command import ENTRY
from kvplan.engines.vllm.said import Said


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


class Split(NamedTuple):
    """Devices by role."""

    tp: int
    pp: int
    dp: int
    pcp: int
    experts: bool


def split(said: Said, model: ModelSpec, n_devices: int) -> Split:
    """The roles as said. Where neither a command nor ``--tp`` speaks, tensor parallelism is the largest that works.

    Raises RequestError for an expert parallelism that vLLM doesn't have.
    """
    pp, dp = said.number("pipeline-parallel-size", 1), said.number("data-parallel-size", 1)
    pcp = said.number("prefill-context-parallel-size", 1)
    tp = said.count("tensor-parallel-size")
    if tp is None:
        free = 1 if ENTRY in said else max(1, n_devices // (pp * dp * pcp))
        tp = next(ways for ways in range(free, 0, -1) if divides(model, ways))
    ep = said.count("ep")
    if ep not in (None, 1, tp * dp * pcp):
        raise RequestError(
            "contradiction",
            f"--ep {ep}: vLLM splits experts over all {tp * dp * pcp} devices of a stage or over none",
            hint="choose --tp and --dp so that their product is it",
        )
    return Split(tp, pp, dp, pcp, said.on("enable-expert-parallel") if ep is None else ep > 1)
