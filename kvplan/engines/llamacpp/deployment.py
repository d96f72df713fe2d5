"""One model on llama.cpp with resolved settings on one node: its buffers, its ledger, its words."""

from collections.abc import Mapping

from kvplan.core.device import Node
from kvplan.core.engine import Capacity
from kvplan.core.ledger import ZERO, Entry, Finding, Interval, KvPlan, NotModeled, Phases, Refusal
from kvplan.core.model import ModelSpec
from kvplan.core.pace import Held
from kvplan.core.remembered import cached
from kvplan.core.workload import Workload
from kvplan.engines.llamacpp import advice, entries, log, report
from kvplan.engines.llamacpp.devices import CPU
from kvplan.engines.llamacpp.fit import laid_out
from kvplan.engines.llamacpp.fitting import capacity
from kvplan.engines.llamacpp.laid import Laid
from kvplan.engines.llamacpp.needs import needs
from kvplan.engines.llamacpp.notes import not_modeled
from kvplan.engines.llamacpp.refusals import MAX_SEQUENCES
from kvplan.engines.llamacpp.settings import Settings


class Deployment:
    """Implements the seam's Deployment: every buffer is reserved at start, whatever the workload."""

    def __init__(self, model: ModelSpec, settings: Settings, node: Node) -> None:
        """Nothing is computed before it is asked for."""
        self._asked = model, settings, node

    @cached
    def _laid(self) -> Laid:
        model, settings, node = self._asked
        return laid_out(model, settings, node)

    @cached
    def refusals(self) -> tuple[Refusal, ...]:
        """What llama.cpp says no to."""
        return self._laid.frame.refusals[self._laid.settings.n_parallel > MAX_SEQUENCES]

    @cached
    def findings(self) -> tuple[Finding, ...]:
        """What the flags do that they don't show."""
        (model, asked, node), n_ctx = self._asked, self._laid.settings.n_ctx
        return (
            *advice.advice(model, asked if asked.n_ctx == n_ctx else asked._replace(n_ctx=n_ctx), node, self._laid.context),
            *advice.moved(model, asked, self._laid.settings),
        )

    @cached
    def not_modeled(self) -> tuple[NotModeled, ...]:
        """Adapters, projectors, drafters that were not read."""
        return not_modeled(self._laid)

    @cached
    def _entries(self) -> tuple[Entry, ...]:
        return tuple(entries.of_process(self._laid))

    def entries(self, load: Workload) -> tuple[Entry, ...]:
        """The ledger of the process."""
        return self._entries

    def need_bytes(self, place: str, load: Workload) -> Interval:
        """What the process holds at ``place``: it starts with all of it or not at all."""
        if place != "host" and not self._asked[1].devices:
            return ZERO
        return self._needs.get(place, ZERO)

    @cached
    def _needs(self) -> dict[str, Interval]:
        return needs(self._laid)

    def resolved(self) -> Mapping[str, int]:
        """Contexts and batches as the model and the slots make them."""
        found, placed = self._laid.context, self._laid.settings
        moved = {"n_gpu_layers": placed.n_gpu_layers, "n_cpu_moe": placed.n_cpu_moe}
        return moved | {name: getattr(found, name) for name in ("n_ctx", "n_ctx_seq", "n_seq_max", "n_batch", "n_ubatch")}

    def usable_bytes(self, place: str) -> int | None:
        """None: no pool to fit into; a place gives what it has."""
        return None

    def phases(self, load: Workload) -> Phases:
        """llama.cpp has no phases of its own: all is there from the beginning."""
        return Phases(None, None, None)

    def kv(self, load: Workload) -> KvPlan:
        """The cache over all devices."""
        return report.kv_plan(self._laid, load)

    def held(self) -> Held:
        """What steps read: the weights as ``--fit`` places them."""
        return self._laid.frame.held

    def capacity(self, load: Workload) -> Capacity | None:
        """The longest context and the most slots that fit the node; None where no accelerator is known."""
        return capacity(self._laid, self._entries, load)

    def log_lines(self) -> tuple[str, ...]:
        """What llama.cpp prints of its buffers, nothing where it would not start."""
        if self.refusals:
            return ()
        laid = self._laid
        names = {device: laid.host_buffer if device == CPU else laid.layout.names[device] for device in laid.compute.n_bytes}
        return (
            *log.model_lines(laid.weights.buffers, laid.weights.mapped_bytes),
            log.output_line(laid.host_buffer, laid.output_bytes),
            *log.cache_lines(laid.settings, laid.context, laid.cache, laid.cached),
            *log.compute_lines({names[device]: n_bytes for device, n_bytes in laid.compute.n_bytes.items()}),
        )
