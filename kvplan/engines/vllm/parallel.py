"""Over how many devices a model can be split."""

from typing import NamedTuple

from kvplan.core.errors import RequestError
from kvplan.core.model import ModelSpec
from kvplan.core.splitting import widest
from kvplan.engines.vllm.command import ENTRY
from kvplan.engines.vllm.said import Said


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
        tp = 1 if ENTRY in said else widest(model, n_devices // (pp * dp * pcp))
    ep = said.count("ep")
    if ep not in (None, 1, tp * dp * pcp):
        raise RequestError(
            "contradiction",
            f"--ep {ep}: vLLM splits experts over all {tp * dp * pcp} devices of a stage or over none",
            hint="choose --tp and --dp so that their product is it",
        )
    return Split(tp, pp, dp, pcp, said.on("enable-expert-parallel") if ep is None else ep > 1)
