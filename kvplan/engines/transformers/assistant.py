"""The model that drafts in assisted generation: a second one beside the first, with a cache of its own.

Source: transformers 5.24 generation/candidate_generator.py, AssistedCandidateGenerator.
"""

from kvplan.core.dtypes import PLAIN
from kvplan.core.ledger import Entry, Interval
from kvplan.core.model import ModelSpec
from kvplan.core.workload import Workload
from kvplan.engines.transformers import weights
from kvplan.engines.transformers.footprint import Footprint
from kvplan.engines.transformers.passes import Device
from kvplan.engines.transformers.plan import compile_plan
from kvplan.engines.transformers.rules import rules_for
from kvplan.engines.transformers.settings import Settings


class Assistant:
    """What the drafting model holds while the other one runs, and at most at once."""

    def __init__(self, model: ModelSpec, settings: Settings, capability: tuple[int, int] | None) -> None:
        """``settings`` are those of the model that it drafts for; it lies in its own type, with a dynamic cache."""
        rules, _ = rules_for(settings.version)
        compute = model.stored_dtype if model.stored_dtype in PLAIN else settings.compute_dtype
        attn = "eager" if model.form.eager_only else settings.attn
        own = settings._replace(
            dtype=model.stored_dtype, compute_dtype=compute, kv_dtype=compute, cache="dynamic", attn=attn, chunk_tokens=0
        )
        self._name = model.id or model.architecture
        self._footprint = Footprint(compile_plan(model, own, rules), Device(capability))
        self._weights = weights.weights(model, own, keeps_router=rules.keeps_router)

    def entry(self, load: Workload) -> Entry:
        """Weights and cache; at most with all that its own passes hold, which the other model's may outweigh or not."""
        peaks, held = self._footprint.peaks(load, bound=True), self._weights.size
        kept = peaks.cache + peaks.state
        high = held.high + max(peaks.prefill, peaks.decode)
        return Entry(
            term="draft_model",
            name="assistant model",
            place="gpu0",
            size=Interval(held.low + kept, held.best + kept, high),
            basis="modeled",
            formula="{weights} B of weights + {cache} B of its own cache, and up to {peak} B while it drafts itself",
            inputs={"weights": held.best, "cache": kept, "peak": high - held.high - kept},
            source=f"{self._name}; transformers 5.24 generation/candidate_generator.py",
        )
