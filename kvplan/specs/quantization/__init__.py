"""Quantized checkpoints by arithmetic: one file a method says how its layout stores a projection.

A method module has ``METHODS``, ``IGNORES`` (config keys that list modules left alone), ``recipe(cfg)``, and ``LOADS_AS``
where Transformers loads the rest in a type of its own when the config names none.
"""

import re
from collections.abc import Callable, Iterable
from types import ModuleType
from typing import NamedTuple

from kvplan.core.model import Caveat, Layer, LayerRun, ModelSpec, WeightGroup
from kvplan.core.roles import ENDS, TOWERS
from kvplan.core.units import ceil_div
from kvplan.specs.config import Config
from kvplan.specs.module_names import Named, Site
from kvplan.specs.parts.blocks import Groups, runs

Rule = Callable[[WeightGroup], Groups]

_QUANTIZED_ROLES = ("attention", "indexer", "mixer", "mlp", "expert", "shared_expert")
# no method takes convolutions; an indexer's weights of heads and DeepSeek-V4's compressors are published as they are
_KEPT = ("conv", "weights_proj", "compressor.kv_proj", "compressor.gate_proj", "compressor.indexer.kv_proj", "compressor.indexer.gate_proj")
_NARROWEST = 16  # kernels of convolutions, vectors and gates of one output are never quantized
_ENCODERS = (*TOWERS, "encoder")
_ENCODERS_TOO = Caveat(
    "KV024",
    "note",
    "this quantization takes the projections of encoders too, unless it is told not to, and so they are counted",
    "the headers of the checkpoint's files say it exactly",
)
OFF_BY = (1, 2)  # hundredths: tools differ in empty biases, extra scales and what they leave alone


class Part(NamedTuple):
    """Modules that are stored in a way of their own; ``rule`` None leaves them alone."""

    names: Named
    rule: Rule | None


class Recipe(NamedTuple):
    """What a quantization makes of each projection: the first of ``parts`` that names it decides, else ``rest``.

    Embeddings and output projection are ``ends``, and left alone where that is None and no part names them. ``kv_scales``:
    each attention has a scale for the keys and one for the values that it caches. ``towers``: the method takes the projections
    of encoders as well. ``off_by`` is (0, 0) where the config determines every byte.
    """

    rest: Rule | None
    parts: tuple[Part, ...] = ()
    ends: Rule | None = None
    kv_scales: bool = False
    towers: bool = False
    off_by: tuple[int, int] = OFF_BY
    caveats: tuple[Caveat, ...] = ()


def quantized(spec: ModelSpec, cfg: Config, module: ModuleType) -> ModelSpec:
    """``spec`` as ``quantization_config`` stores it: projections of the layers in few bits, with their scales.

    Embeddings, norms, routers and, with most methods, towers keep the model's element type, as do ignored modules; the output
    projection does unless it is named. Next-token layers are stored like the others. Raises ConfigError for settings that the method
    doesn't have.
    """
    recipe: Recipe = module.recipe(cfg)
    if recipe.rest is None and not recipe.parts and not recipe.kv_scales:
        return spec
    store = _Store(recipe, named(cfg, *module.IGNORES))
    following = [run.layer for run in spec.mtp for _ in range(run.n_layers)]
    mtp = [store.layer(layer, spec.n_layers + i, i) for i, layer in enumerate(following)]
    weights = tuple(stored for group in spec.weights for stored in store.groups(Site(group)))
    made = spec._replace(runs=store.runs(spec), mtp=runs(mtp), weights=weights, caveats=(*spec.caveats, *recipe.caveats))
    return _with_interval(made, recipe, before=spec)


def _with_interval(made: ModelSpec, recipe: Recipe, *, before: ModelSpec) -> ModelSpec:
    """``made`` with what its bytes may be off by: more above where encoders may have been left alone, never less than before."""
    below, above = recipe.off_by
    saved = _tower_bytes(before) - _tower_bytes(made)
    if saved:
        above += ceil_div(100 * saved, max(1, made.weight_bytes))
        made = made._replace(caveats=(*made.caveats, _ENCODERS_TOO))
    if not before.exact:
        below, above = max(below, before.off_by[0]), max(above, before.off_by[1])
    return made._replace(exact=before.exact and not (below or above), off_by=(below, above))


def _tower_bytes(spec: ModelSpec) -> int:
    return sum(group.n_bytes(spec.stored_dtype) for group in spec.weights if group.role in _ENCODERS)


def named(cfg: Config, *keys: str) -> Named:
    """The modules listed at ``keys``. Raises ConfigError for a list of something else and for a broken expression."""
    return patterns(cfg, keys[0], [name for key in keys if cfg.has(key) for name in cfg.texts(key)])


def patterns(cfg: Config, key: str, names: Iterable[str]) -> Named:
    """``names``, read from ``key``, as patterns. Raises ConfigError for a broken expression."""
    try:
        return Named(names)
    except re.error as error:
        raise cfg.error(key, f"expected names of modules, found a regular expression that is none: {error}") from None


class _Store:
    def __init__(self, recipe: Recipe, ignored: Named) -> None:
        self._recipe, self._ignored = recipe, ignored

    def runs(self, spec: ModelSpec) -> tuple[LayerRun, ...]:
        """The layers; equal ones are looked at once where no list of modules may name one and not the next."""
        if any(names.by_layer for names in (self._ignored, *(part.names for part in self._recipe.parts))):
            return runs([self.layer(layer, index, None) for index, layer in enumerate(spec.layers())])
        return tuple(LayerRun(run.n_layers, self.layer(run.layer, 0, None)) for run in spec.runs)

    def layer(self, layer: Layer, index: int, mtp: int | None) -> Layer:
        weights = tuple(stored for group in layer.weights for stored in self.groups(Site(group, index, mtp)))
        caches = self._recipe.kv_scales and mtp is None and layer.kv_source is None
        return layer._replace(weights=(*weights, *_kv_scales(layer)) if caches else weights)

    def groups(self, site: Site) -> Groups:
        rule = self._rule(site)
        return (site.group,) if rule is None or self._ignored.cover(site) else rule(site.group)

    def _rule(self, site: Site) -> Rule | None:
        group = site.group
        is_end = group.role in ENDS and site.layer is None
        matrix = min(group.rows, group.cols) >= _NARROWEST and not group.tied_to and not any(kept in group.name for kept in _KEPT)
        if not matrix or not (is_end or group.role in _QUANTIZED_ROLES or (self._recipe.towers and _is_tower_projection(group))):
            return None
        part = next((part for part in self._recipe.parts if part.names.cover(site)), None)
        return part.rule if part else self._recipe.ends if is_end else self._recipe.rest


def _is_tower_projection(group: WeightGroup) -> bool:
    named_otherwise = any(word in group.name for word in ("embed", "pos", "tile", "query"))
    return group.role in _ENCODERS and not named_otherwise


def _kv_scales(layer: Layer) -> Groups:
    """Source: vLLM 0.33 layers/quantization/kv_cache.py, BaseKVCacheMethod."""
    n_caches = sum(mixer.kind in ("full", "sliding", "chunked") for mixer in layer.mixers)
    names = ("self_attn.k_proj.k_scale", "self_attn.v_proj.v_scale")
    return tuple(WeightGroup(name, "scale", 1, 1, n_caches, dtype="float32") for name in names) if n_caches else ()
