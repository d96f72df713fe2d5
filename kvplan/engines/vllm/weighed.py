"""The weights of a model under given settings, computed once for all that change nothing about them."""

from typing import NamedTuple

from kvplan.core.ledger import Interval, exactly
from kvplan.core.model import ModelSpec
from kvplan.engines.vllm import loaded
from kvplan.engines.vllm.cache import drafter
from kvplan.engines.vllm.rules import Rules
from kvplan.engines.vllm.settings import Settings
from kvplan.engines.vllm.weights import by_stage, drafter_bytes


class Weighed(NamedTuple):
    """By pipeline stage: weights, the drafter's, and what loading adds; ``adapters`` are alike on all stages.

    ``built_bytes`` is the most that any rank holds while the model is built.
    """

    weights: tuple[Interval, ...]
    drafted: tuple[int, ...]
    copies: tuple[Interval, ...]
    adapters: int
    n_params: int
    built_bytes: int

    def held(self, stage: int) -> Interval:
        """All of it on one rank of ``stage``."""
        return self.weights[stage].plus(exactly(self.drafted[stage] + self.adapters)).plus(self.copies[stage])


_Key = tuple[int, tuple[object, ...], tuple[int, int] | None]
_known: dict[_Key, tuple[ModelSpec, Weighed]] = {}
_MOST = 256
_BEARING = (
    *("tp", "pp", "dp", "expert_parallel", "layer_partition", "dtype", "quantization", "lora", "speculative", "cpu_offload_bytes"),
    *("version", "v1"),
)


def weighed(model: ModelSpec, settings: Settings, rules: Rules, capability: tuple[int, int] | None) -> Weighed:
    """The weights; equal settings of one model object share them (which keeps the object's id taken)."""
    key = (id(model), tuple(getattr(settings, name) for name in _BEARING), capability)
    if key not in _known:
        if len(_known) >= _MOST:
            _known.clear()
        _known[key] = model, _weighed(model, settings, rules, capability)
    return _known[key][1]


def _weighed(model: ModelSpec, settings: Settings, rules: Rules, capability: tuple[int, int] | None) -> Weighed:
    final = by_stage(model, settings, capability)
    on_load = loaded.quantized_on_load(model, settings) is not None
    drafted = drafter_bytes(drafter(model, settings), model, settings, capability)
    return Weighed(
        weights=tuple(_bounded(size, model, settings) for size in final),
        drafted=(*(0,) * (settings.pp - 1), drafted),
        copies=loaded.copies(model, settings, rules),
        n_params=model.n_params,
        adapters=loaded.adapters(model, settings),
        built_bytes=max(by_stage(model, settings, capability, built=True) if on_load else final),
    )


def _bounded(n_bytes: int, model: ModelSpec, settings: Settings) -> Interval:
    """Exact where the parts are, else as far off as the model says; what stays with the host is left out."""
    less, more = (0, 0) if model.exact else model.off_by
    kept = max(0, n_bytes - settings.cpu_offload_bytes)
    return Interval(max(0, kept - n_bytes * less // 100), kept, kept + n_bytes * more // 100)
