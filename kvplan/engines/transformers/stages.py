"""The part of a plan that one of several GPUs runs."""

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from kvplan.core.model import Layer, ModelSpec
from kvplan.engines.transformers.plan import Kind, PerRule, Plan, as_cached, plus


class Stage(NamedTuple):
    """``first``: the prompt comes in and the output comes back here. ``head``: the logits are made here."""

    first: bool
    head: bool


def stage_plan(whole: Plan, model: ModelSpec, runs: Sequence[int], stage: Stage) -> Plan:
    """``whole`` with no other layers than those of ``runs``, one index into the model's runs for each layer.

    The next token is picked where the prompt came in: the output goes back there, so a plain forward's logits end up there, too.
    """
    known = {_key(kind.layer): kind for kind in whole.kinds}
    total: PerRule = (0,) * len(whole.rules)
    kinds: dict[tuple[object, ...], Kind] = {}
    fixed = tail = state = 0
    for i, n_layers in sorted(Counter(runs).items()):
        key = _key(as_cached(model.runs[i].layer, whole.form))
        kind = known[key]
        last = plus(total, kind.own, times=n_layers - 1)
        kinds[key] = kinds[key]._replace(last=last) if key in kinds else kind._replace(first=total, last=last)
        total = plus(last, kind.own)
        fixed, tail = fixed + n_layers * kind.store.fixed_bytes, tail + n_layers * kind.store.tail_bytes
        state += n_layers * kind.store.state_bytes
    sees = stage.head or (stage.first and whole.whole_logits)
    return whole._replace(
        kinds=tuple(kinds.values()),
        total=total,
        fixed_bytes=fixed,
        tail_bytes=tail,
        state_bytes=state,
        logits_bytes=whole.logits_bytes if sees else 0,
        enters=stage.first,
        heads=stage.head,
    )


def only(model: ModelSpec, runs: Sequence[int]) -> ModelSpec:
    """The model with no other layers than those of ``runs``."""
    counts = Counter(runs)
    return model._replace(runs=tuple(run._replace(n_layers=counts[i]) for i, run in enumerate(model.runs) if counts[i]))


def _key(layer: Layer) -> tuple[object, ...]:
    return layer.mixers, layer.ffns, layer.kv_source is None
