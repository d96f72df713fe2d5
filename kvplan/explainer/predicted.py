"""What the estimate says of a running server: by the command that started it, else by what its metrics tell of its settings."""

from collections.abc import Mapping
from typing import NamedTuple

from kvplan.core.errors import KvplanError
from kvplan.estimator import Estimate, Options, answer
from kvplan.explainer.measure import Measure
from kvplan.specs import builtin


class Served(NamedTuple):
    """What the user says of the server: its model and card, the command that started it, tokens of one sequence, sequences at once."""

    model: str | None = None
    gpu: str | None = None
    command: tuple[str, ...] = ()
    ctx: str | None = None
    batch: str | None = None


class Predicted(NamedTuple):
    """Tokens in the pool, None for an engine without one, and figures beside those of the server."""

    pool_tokens: int | None = None
    measures: tuple[Measure, ...] = ()


NOTHING = Predicted()


def predicted(engine: str, served: Served, info: Mapping[str, str], running: float) -> Predicted:
    """The estimate of a server of ``engine`` that serves ``running`` sequences; ``info`` are the labels of vLLM's cache_config_info.

    Raises KvplanError for a command that can't be estimated.
    """
    load = Options(gpu=served.gpu, ctx=served.ctx, batch=served.batch or (str(int(running)) if running >= 1 else None))
    if served.command:
        return _told(answer(load._replace(command=served.command, model=served.model)))
    known = builtin.find(served.model.lower()) if served.model else None
    if engine != "vllm" or known is None or served.gpu is None:
        return NOTHING
    share = info.get("gpu_memory_utilization", "")
    flags = ("--gpu-memory-utilization", share) if share.replace(".", "").isdigit() else ()
    try:
        return _told(answer(load._replace(command=("vllm", "serve", known, *flags))))
    except KvplanError:
        return NOTHING


def _told(found: Estimate) -> Predicted:
    """Its figures in the server's words."""
    tokens = found.capacity.kv_tokens if found.capacity is not None else None
    measures = [Measure(f"needed on {found.fullest.place.id}", float(found.fullest.needed.best), "bytes")]
    slot = found.settings.get("n_ctx_seq")
    if isinstance(slot, int):
        measures.append(Measure("context of a slot", float(slot), "tokens"))
    if found.performance is not None:
        measures.append(Measure("generation of one sequence", 1 / found.performance.tpot_s.best, "tokens/s"))
        measures.append(Measure("generation", found.performance.decode_tokens_per_s.best, "tokens/s"))
    return Predicted(None if tokens is None else tokens.best, tuple(measures))
