"""One model on Transformers with resolved settings: the ledger of a run."""

from kvplan.core.device import Node
from kvplan.core.dtypes import DTYPES
from kvplan.core.engine import Capacity
from kvplan.core.ledger import Entry, Finding, Interval, KvPlan, NotModeled, Phases, Refusal, exactly, total
from kvplan.core.model import ModelSpec
from kvplan.core.workload import Workload
from kvplan.engines.transformers.cache import cached_layers, ideal_elems, kv_bytes, state_bytes
from kvplan.engines.transformers.settings import Settings

CACHE_SOURCE = "transformers 5.24.0 cache_utils.py, DynamicCache"


class Deployment:
    """Implements the seam's Deployment for eager PyTorch on one GPU."""

    def __init__(self, model: ModelSpec, settings: Settings, node: Node) -> None:
        """Weights are summed once, here."""
        self.model = model
        self.settings = settings
        self.node = node
        self.refusals: tuple[Refusal, ...] = ()
        self.findings: tuple[Finding, ...] = ()
        self.not_modeled: tuple[NotModeled, ...] = ()
        self._weight_bytes = sum(group.n_bytes(settings.dtype) for group in model.groups())
        self._state_bytes = state_bytes(model, settings.kv_dtype)

    def entries(self, load: Workload) -> tuple[Entry, ...]:
        """Weights and cache; exact."""
        return (self._weights(), *self._cache(load))

    def need_bytes(self, place: str, load: Workload) -> Interval:
        """Sum of the entries at ``place``."""
        return total(entry.size for entry in self.entries(load) if entry.place == place)

    def phases(self, load: Workload) -> Phases:
        """Weights and cache alone, so far."""
        reserved = kv_bytes(self.model, load, self.settings.kv_dtype)[1] + load.batch * self._state_bytes
        held = self._weight_bytes + reserved
        return Phases(self._weight_bytes, held, held)

    def kv(self, load: Workload) -> KvPlan:
        """Ideal and reserved bytes, and the groups of equal layers."""
        kv_dtype = self.settings.kv_dtype
        ideal, reserved = kv_bytes(self.model, load, kv_dtype)
        elem = DTYPES[kv_dtype].block_bytes
        grown = kv_bytes(self.model, load._replace(ctx_tokens=load.ctx_tokens + 1, batch=1), kv_dtype)[0]
        return KvPlan(
            k_dtype=kv_dtype,
            v_dtype=kv_dtype,
            bytes_per_token=elem * sum(n * ideal_elems(m, 1) for n, layer in cached_layers(self.model) for m in layer.mixers),
            marginal_bytes_per_token=grown - kv_bytes(self.model, load._replace(batch=1), kv_dtype)[0],
            state_bytes_per_sequence=self._state_bytes,
            ideal_bytes=ideal + load.batch * self._state_bytes,
            reserved_bytes=reserved + load.batch * self._state_bytes,
            groups=(),
        )

    def capacity(self, load: Workload) -> Capacity | None:
        """No pool: memory is taken as the sequence grows."""
        return None

    def log_lines(self) -> tuple[str, ...]:
        """Transformers prints nothing about memory."""
        return ()

    def _weights(self) -> Entry:
        return Entry(
            term="weights",
            name="weights",
            place="gpu0",
            size=exactly(self._weight_bytes),
            basis="exact" if self.model.exact else "modeled",
            formula="{n_params} params · {dtype}",
            inputs={"n_params": self.model.n_params, "dtype": self.settings.dtype},
            source=self.model.id,
        )

    def _cache(self, load: Workload) -> tuple[Entry, ...]:
        reserved = kv_bytes(self.model, load, self.settings.kv_dtype)[1]
        return (
            Entry(
                term="kv_cache",
                name="kv cache",
                place="gpu0",
                size=exactly(reserved),
                basis="exact",
                formula="{ctx} tokens · {batch} sequences",
                inputs={"ctx": load.ctx_tokens, "batch": load.batch},
                source=CACHE_SOURCE,
            ),
        )
