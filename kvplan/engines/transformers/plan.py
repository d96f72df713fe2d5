"""A model as this engine runs it: kinds of layers, and what all of them keep."""

from collections.abc import Sequence
from typing import NamedTuple

from kvplan.core.dtypes import DTYPES
from kvplan.core.forms import ActivationForm
from kvplan.core.model import Layer, ModelSpec
from kvplan.engines.transformers.aged import as_of
from kvplan.engines.transformers.cache import FLOAT32, Rule, Slot, Store, store
from kvplan.engines.transformers.rules import Rules
from kvplan.engines.transformers.settings import Settings
from kvplan.engines.transformers.widths import rate, widths_of

PerRule = tuple[int, ...]
"""Bytes per kept entry and sequence, one number for each of the plan's rules."""


class Kind(NamedTuple):
    """Layers with equal mixers and feed-forwards.

    ``first`` and ``last`` are what all layers before the first and before the last of them keep, ``own`` what one of them
    keeps. ``rule`` is the index of the rule that says how many tokens they attend to.
    """

    layer: Layer
    store: Store
    first: PerRule
    last: PerRule
    own: PerRule
    rule: int
    widths: dict[str, int]


class Plan(NamedTuple):
    """What does not depend on the workload; ``behavior`` is that of the version.

    ``total`` is kept by all layers, ``logits_bytes`` made of one output row; ``fixed_bytes`` and ``state_bytes`` are kept
    per sequence, of the fixed ones ``tail_bytes`` at most. ``enters`` is False on GPUs of several where the prompt does not come in:
    they see no ids and no embeddings of them, and pick no token. ``heads`` is False where the logits are not made, but at most arrive;
    ``gathered_bytes`` are alive beside each row of them while ranks put their parts together.
    """

    form: ActivationForm
    settings: Settings
    behavior: Rules
    elem_bytes: int
    hidden: int
    vocab: int
    rules: tuple[Rule, ...]
    kinds: tuple[Kind, ...]
    total: PerRule
    logits_bytes: int
    fixed_bytes: int
    tail_bytes: int
    state_bytes: int
    enters: bool = True
    heads: bool = True
    gathered_bytes: int = 0

    @property
    def whole_logits(self) -> bool:
        """Whether the pass over the prompt makes logits of every position."""
        return self.settings.forward == "plain" or not self.behavior.last_logits

    @property
    def score_elems(self) -> int:
        """Scores of a row from which the next token is picked here."""
        return self.vocab if self.enters else 0

    @property
    def id_bytes(self) -> int:
        """Bytes of a token's id, an int64, where there are ids."""
        return 8 if self.enters else 0

    @property
    def row_bytes(self) -> int:
        """Bytes of one row of logits as it is returned."""
        return self.score_elems * (FLOAT32 if self.form.logits.endswith(" + fW") else self.elem_bytes)

    @property
    def keeps_old(self) -> bool:
        """Whether all of the cache as it was before a step lives until the end of it."""
        return self.behavior.keeps_outputs and self.settings.cache == "dynamic"


def compile_plan(model: ModelSpec, settings: Settings, behavior: Rules) -> Plan:
    """Group equal layers and sum what they keep."""
    elem = DTYPES[settings.compute_dtype].block_bytes
    made = {id(run.layer): as_cached(run.layer, model.form) for run in model.runs}
    kept_by = behavior._replace(drops=True) if settings.hybrid else behavior
    known = {key: store(layer, settings.kv_dtype, elem, kept_by) for key, layer in made.items()}
    if settings.cache == "none":
        known = {key: kept.emptied() for key, kept in known.items()}
    stores = [known[id(run.layer)] for run in model.runs]
    rules = tuple(dict.fromkeys(slot.rule for kept in stores for slot in kept.slots)) or (Rule(),)
    kinds, total = _kinds(model, [made[id(run.layer)] for run in model.runs], stores, rules)
    counted = [(run.n_layers, kept) for run, kept in zip(model.runs, stores, strict=True)]
    latent = any(mixer.kind == "mla" for run in model.runs for mixer in run.layer.mixers)
    form = as_of(model.form, behavior, latent=latent)
    return Plan(
        form=form,
        settings=settings,
        behavior=behavior,
        elem_bytes=elem,
        hidden=model.hidden_size,
        vocab=model.vocab_size,
        rules=rules,
        kinds=kinds,
        total=total,
        logits_bytes=rate(form.logits, {"W": model.vocab_size}, elem).token,
        fixed_bytes=sum([n * kept.fixed_bytes for n, kept in counted]),
        tail_bytes=sum([n * kept.tail_bytes for n, kept in counted]),
        state_bytes=sum([n * kept.state_bytes for n, kept in counted]),
    )


def _kinds(model: ModelSpec, layers: Sequence[Layer], stores: Sequence[Store], rules: Sequence[Rule]) -> tuple[tuple[Kind, ...], PerRule]:
    """The kinds in the order in which they first appear, and what all layers keep; ``layers`` and ``stores`` are those of each run."""
    total: PerRule = (0,) * len(rules)
    kinds: dict[tuple[object, ...], Kind] = {}
    for run, layer, kept in zip(model.runs, layers, stores, strict=True):
        own = by_rule(kept.slots, rules)
        key = (layer.mixers, layer.ffns, layer.kv_source is None)
        last = plus(total, own, times=run.n_layers - 1)
        if key in kinds:
            kinds[key] = kinds[key]._replace(last=last)
        else:
            rule = rules.index(kept.slots[0].rule) if kept.slots else _borrowed(model, layer, stores, rules)
            widths = widths_of(layer, model.hidden_size, model.vocab_size, model.form.rotary_dim or 0)
            kinds[key] = Kind(layer, kept, total, last, own, rule, widths)
        total = plus(last, own)
    return tuple(kinds.values()), total


def as_cached(layer: Layer, form: ActivationForm) -> Layer:
    """The layer with the KV heads that its modeling code caches."""
    if form.kv_heads != "expanded":
        return layer
    mixers = [mixer._replace(n_kv_heads=mixer.n_heads) if mixer.kind in ("full", "sliding") else mixer for mixer in layer.mixers]
    return layer._replace(mixers=tuple(mixers))


def by_rule(slots: Sequence[Slot], rules: Sequence[Rule]) -> PerRule:
    """Bytes per entry of ``slots`` for each of ``rules``."""
    return tuple([sum([slot.bytes for slot in slots if slot.rule == rule]) for rule in rules])


def plus(a: PerRule, b: PerRule, *, times: int = 1) -> PerRule:
    """``a`` + ``times`` · ``b``, rule by rule."""
    return tuple([x + times * y for x, y in zip(a, b, strict=True)])


def _borrowed(model: ModelSpec, layer: Layer, stores: Sequence[Store], rules: Sequence[Rule]) -> int:
    """The rule of the layer whose keys and values this one reads; the first for layers without attention."""
    if layer.kv_source is None:
        return 0
    slots = [kept.slots for run, kept in zip(model.runs, stores, strict=True) for _ in range(run.n_layers)][layer.kv_source]
    return rules.index(slots[0].rule)
