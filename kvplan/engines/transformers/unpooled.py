"""What every deployment on Transformers answers alike: memory is taken as the sequence grows, from no pool."""

from abc import ABC, abstractmethod
from collections.abc import Mapping

from kvplan.core.engine import Capacity
from kvplan.core.ledger import Entry, KvPlan
from kvplan.core.pace import Held, held
from kvplan.core.workload import Workload


class Unpooled(ABC):
    """Part of the seam's Deployment."""

    @abstractmethod
    def entries(self, load: Workload) -> tuple[Entry, ...]:
        """The ledger."""

    @abstractmethod
    def kv(self, load: Workload) -> KvPlan:
        """The cache."""

    def held(self) -> Held:
        """What steps read."""
        load = Workload(1, 1, 1)
        return held(self.entries(load), self.kv(load))

    def usable_bytes(self, place: str) -> int | None:
        """No limit but the card's."""
        return None

    def capacity(self, load: Workload) -> Capacity | None:
        """No pool."""
        return None

    def resolved(self) -> Mapping[str, int]:
        """None: what was asked for holds."""
        return {}

    def log_lines(self) -> tuple[str, ...]:
        """Transformers prints nothing about memory."""
        return ()
