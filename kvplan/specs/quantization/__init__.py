"""Quantized checkpoints by arithmetic: one file a method says how its layout stores a projection.

A method module has ``METHODS``, ``IGNORES`` (config keys that list modules left alone), ``rule(cfg)``, which gives the
function from a projection to the tensors that stand for it, and ``LOADS_AS`` where Transformers loads the rest in a
type of its own when the config names none.
"""

from collections.abc import Callable
from types import ModuleType

from kvplan.core.model import ModelSpec, WeightGroup
from kvplan.specs.config import Config
from kvplan.specs.ignored import Ignored
from kvplan.specs.parts.blocks import Groups, runs

Rule = Callable[[WeightGroup], Groups]

_QUANTIZED_ROLES = ("attention", "indexer", "mixer", "mlp", "expert", "shared_expert")
_OFF_BY = (1, 2)  # hundredths: tools differ in empty biases, extra scales and what they leave alone
_NARROWEST_COLS = 16  # convolution kernels and vectors are never quantized


def quantized(spec: ModelSpec, cfg: Config, module: ModuleType) -> ModelSpec:
    """``spec`` as ``quantization_config`` stores it: projections of the layers in few bits, with their scales.

    Embeddings, output projection, norms, routers and towers keep the model's element type, as do ignored modules.
    Raises ConfigError for settings that the method doesn't have.
    """
    ignored = Ignored([name for key in module.IGNORES if cfg.has(key) for name in cfg.texts(key)])
    rule: Rule = module.rule(cfg)
    layers = [
        layer._replace(weights=tuple(stored for group in layer.weights for stored in _stored(group, rule, ignored, index)))
        for index, layer in enumerate(spec.layers())
    ]
    return spec._replace(runs=runs(layers), exact=False, off_by=_OFF_BY)


def _stored(group: WeightGroup, rule: Rule, ignored: Ignored, layer: int) -> Groups:
    projection = group.role in _QUANTIZED_ROLES and group.cols >= _NARROWEST_COLS and not group.tied_to and "conv" not in group.name
    return rule(group) if projection and not ignored.covers(group.name, layer) else (group,)
