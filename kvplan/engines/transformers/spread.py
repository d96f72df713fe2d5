"""A model that ``device_map`` splits: layers one after the other on several GPUs, the rest on the host and on disk.

Source: transformers 5.24 integrations/accelerate.py; accelerate 1.15 big_modeling.py (dispatch_model), hooks.py (AlignDevicesHook).
"""

from collections.abc import Mapping, Sequence

from kvplan.core.device import Node
from kvplan.core.ledger import ZERO, Entry, Finding, Interval, KvPlan, NotModeled, Phases, Refusal
from kvplan.core.model import ModelSpec
from kvplan.core.workload import Workload
from kvplan.engines.transformers import loading, spread_notes
from kvplan.engines.transformers.budget import budget
from kvplan.engines.transformers.compiled import compiled
from kvplan.engines.transformers.deployment import Deployment, Portion
from kvplan.engines.transformers.footprint import Footprint
from kvplan.engines.transformers.modules import Module, Tree, tree
from kvplan.engines.transformers.passes import Device
from kvplan.engines.transformers.passing import passing
from kvplan.engines.transformers.placing import DISK, HOST, balanced, place
from kvplan.engines.transformers.report import kept
from kvplan.engines.transformers.settings import Settings
from kvplan.engines.transformers.stages import Stage, only, stage_plan
from kvplan.engines.transformers.unpooled import Unpooled
from kvplan.engines.transformers.weights import Weights, entry

HOST_PLACE = "host"


class Spread(Unpooled):
    """Implements the seam's Deployment: one portion of the model on each GPU, and weights that wait on the host.

    A layer whose weights lie on the host or on disk runs on the first GPU: its weights pass through there, module by module, and its
    cache stays there.
    """

    def __init__(self, model: ModelSpec, settings: Settings, node: Node) -> None:
        """Place every module; what a GPU runs is compiled when somebody asks for it."""
        capability = node.gpus[0].compute_capability
        loaded = loading.as_loaded(model, capability, settings.compute_dtype)
        self._tree = tree(loaded, settings.dtype)
        self._whole = tuple(self._tree.whole())
        self._found = placed(self._tree, settings, loaded, node)
        self._asked = model, settings, node
        self._places = tuple(f"gpu{i}" for i in range(len(node.gpus)))
        self._made: dict[str, Deployment] = {}
        first = self.on(self._places[0])
        self._host = self._on_host(compiled(model, settings, capability)[1])
        self._disk = sum(module.held for module in self._at(DISK))
        away = spread_notes.Away(self._at(HOST), self._at(DISK), known=self._tree.known)
        self.refusals: tuple[Refusal, ...] = (*first.refusals, *spread_notes.refusals(loaded, away))
        self.findings: tuple[Finding, ...] = (*first.findings, *spread_notes.findings(node, settings, away))
        self.not_modeled: tuple[NotModeled, ...] = (*first.not_modeled, *spread_notes.not_modeled(away))

    def entries(self, load: Workload) -> tuple[Entry, ...]:
        """Each GPU's own, then what waits on the host."""
        found = [line for place in self._places for line in self.on(place).entries(load)]
        return (*found, *self._host)

    def need_bytes(self, place: str, load: Workload) -> Interval:
        """Sum of the entries at ``place``."""
        if place == HOST_PLACE:
            return self._host[0].size if self._host else ZERO
        return self.on(place).need_bytes(place, load) if place in self._places else ZERO

    def on(self, place: str) -> Deployment:
        """What one GPU runs."""
        if place not in self._made:
            self._made[place] = self._deployed(self._places.index(place))
        return self._made[place]

    def phases(self, load: Workload) -> Phases:
        """Those of the fullest GPU."""
        return self._fullest(load).phases(load)

    def kv(self, load: Workload) -> KvPlan:
        """That of the fullest GPU."""
        return self._fullest(load).kv(load)

    def _fullest(self, load: Workload) -> Deployment:
        return self.on(max(self._places, key=lambda place: self.on(place).need_bytes(place, load).best))

    def _at(self, *devices: int | str) -> list[Module]:
        return [module for module in self._whole if self._found[module.name] in devices]

    def _deployed(self, i: int) -> Deployment:
        """What GPU ``i`` runs; the first one in use also runs what waits elsewhere."""
        model, settings, node = self._asked
        main = min((device for device in self._found.values() if isinstance(device, int)), default=0)
        head, gpu = self._found[self._head()], node.gpus[i]
        here, waiting = self._at(i), self._at(HOST, DISK) if i == main else []
        stage = Stage(first=i == main, head=head == i or (i == main and not isinstance(head, int)))
        footprint, whole, _, _ = compiled(model, settings, gpu.compute_capability)
        runs = [module.run for module in (*here, *waiting) if module.run is not None]
        plan, layers = stage_plan(footprint.plan, model, runs, stage), only(model, runs)
        portion = Portion(
            place=self._places[i],
            footprint=Footprint(plan, Device(gpu.compute_capability)),
            weights=self._share(whole, here),
            kept=kept(layers, footprint.plan),
            layers=layers,
            passing=passing(waiting),
        )
        one = node._replace(gpus=(gpu,), used_before_bytes=node.used_before_bytes[i : i + 1])
        return Deployment(model if i == main else model._replace(draft=None), settings, one, portion)

    def _head(self) -> str:
        """The module that makes the logits: the last one."""
        return self._whole[-1].name

    def _share(self, whole: Weights, here: Sequence[Module]) -> Weights:
        """Weights of the modules ``here``, of all that ``whole`` is."""
        part, all_held = sum(module.held for module in here), max(1, sum(module.held for module in self._whole))
        low, best, high = (bound * part // all_held for bound in whole.size)
        return whole._replace(
            size=Interval(low, best, high),
            formula="{modules}: {part} of {all} B",
            inputs={"modules": spread_notes.named(here), "part": best, "all": whole.size.best},
            source=f"{whole.source}; transformers 5.24 integrations/accelerate.py, infer_auto_device_map",
        )

    def _on_host(self, whole: Weights) -> tuple[Entry, ...]:
        waiting = self._at(HOST)
        return (entry(self._share(whole, waiting))._replace(place=HOST_PLACE),) if waiting else ()


def placed(modules: Tree, settings: Settings, model: ModelSpec, node: Node) -> Mapping[str, int | str]:
    """The device of each module that is not split."""
    limits = budget(settings, node)
    if settings.device_map != "sequential":
        limits = balanced(modules, limits, low_zero=settings.device_map == "balanced_low_0")
    return place(modules, limits.tightened(model.quantization))
