"""torchao: integers with a scale an output or group, 4-bit ones with zero points, or FP8.

Source: torchao 0.14 quantization/quant_api.py and quantize_/workflows; transformers 5.24 utils/quantization_config.py, TorchAoConfig.
"""

from collections.abc import Callable, Mapping

from kvplan.core.errors import did_you_mean
from kvplan.core.model import WeightGroup
from kvplan.specs.config import Config
from kvplan.specs.layouts import beside, n_groups_of, packed, scalar
from kvplan.specs.parts.blocks import Groups
from kvplan.specs.quantization import Part, Recipe, Rule, patterns

METHODS = ("torchao",)
IGNORES = ("modules_to_not_convert",)
LOADS_AS = "bfloat16"
_OLD_NAMES = {
    "int4_weight_only": "Int4WeightOnlyConfig",
    "int8_weight_only": "Int8WeightOnlyConfig",
    "int8_dynamic_activation_int8_weight": "Int8DynamicActivationInt8WeightConfig",
    "int8_dynamic_activation_int4_weight": "Int8DynamicActivationInt4WeightConfig",
    "float8_weight_only": "Float8WeightOnlyConfig",
    "float8_dynamic_activation_float8_weight": "Float8DynamicActivationFloat8WeightConfig",
}
_BY_NAME = ("FqnToConfig", "ModuleFqnToConfig")
_REST = "_default"
_ROW = -1


def recipe(cfg: Config) -> Recipe:
    """``quant_type`` is a configuration object as JSON, a name as older files have it, or one object for each module by its name.

    Raises ConfigError for an object that no layout is known of.
    """
    ends = cfg.flag("include_input_output_embeddings", default=False)
    if isinstance(cfg.data.get("quant_type"), str):
        rule = _rule(cfg, cfg.text("quant_type"), cfg.sub("quant_type_kwargs"))
        return Recipe(rule, ends=rule if ends else None, towers=True)
    whole = cfg.sub("quant_type").sub("default")
    if whole.text("_type") not in _BY_NAME:
        rule = _of_object(whole)
        return Recipe(rule, ends=rule if ends else None, towers=True)
    listed = whole.sub("_data")
    by_name = listed.sub("fqn_to_config" if listed.has("fqn_to_config") else "module_fqn_to_config")
    parts = (
        Part(patterns(by_name, name, (name,)), _of_object(by_name.sub(name)) if by_name.has(name) else None)
        for name in by_name.data
        if name != _REST
    )
    return Recipe(_of_object(by_name.sub(_REST)) if by_name.has(_REST) else None, tuple(parts), towers=True)


def _of_object(cfg: Config) -> Rule:
    return _rule(cfg, cfg.text("_type"), cfg.sub("_data"))


def _rule(cfg: Config, name: str, settings: Config) -> Rule:
    make = _RULES.get(_OLD_NAMES.get(name, name))
    if make is None:
        known = sorted(_RULES)
        hint = did_you_mean(name, known) or "known: " + ", ".join(known)
        raise cfg.error("_type" if cfg.has("_type") else "quant_type", f"no layout is known of '{name}'", hint=hint)
    return make(settings)


def _int4(settings: Config) -> Rule:
    """Scales and zero points in the model's type, a pair for each group."""
    size = settings.integer("group_size", default=128)

    def stored(group: WeightGroup) -> Groups:
        return packed(group, "int4"), beside(group, "scale_and_zero", 2 * n_groups_of(group, size), group.rows, None)

    return stored


def _int8(settings: Config) -> Rule:
    size = settings.integer("group_size", default=_ROW)
    return lambda group: (packed(group, "int8"), beside(group, "scale", group.rows, n_groups_of(group, size), None))


def _in_bytes(settings: Config) -> Rule:
    """Integers of few bits, each in a byte of its own, with a scale and a zero point a group."""
    granularity = settings.sub("granularity" if settings.has("granularity") else "weight_granularity")
    by_group = granularity.text("_type", default="PerGroup") == "PerGroup"
    size = settings.integer("group_size", default=granularity.sub("_data").integer("group_size", default=32)) if by_group else _ROW

    def stored(group: WeightGroup) -> Groups:
        n_groups = n_groups_of(group, size)
        scale, zero = beside(group, "scale", group.rows, n_groups, None), beside(group, "zero_point", group.rows, n_groups, "int8")
        return packed(group, "int8"), scale, zero

    return stored


def _float8_rows(settings: Config) -> Rule:
    del settings
    return lambda group: (packed(group, "float8_e4m3fn"), beside(group, "scale", group.rows, 1, "float32"))


def _float8(settings: Config) -> Rule:
    """One scale a tensor, unless ``granularity`` says each row."""
    given = settings.data.get("granularity")
    first = given[0] if isinstance(given, list) and given else given
    if isinstance(first, Mapping) and first.get("_type") == "PerRow":
        return _float8_rows(settings)
    return lambda group: (packed(group, "float8_e4m3fn"), scalar(group, "scale"))


_RULES: dict[str, Callable[[Config], Rule]] = {
    "Int4WeightOnlyConfig": _int4,
    "Int8WeightOnlyConfig": _int8,
    "Int8DynamicActivationInt8WeightConfig": _int8,
    "Int8DynamicActivationInt4WeightConfig": _in_bytes,
    "IntxWeightOnlyConfig": _in_bytes,
    "Int8DynamicActivationIntxWeightConfig": _in_bytes,
    "Float8WeightOnlyConfig": _float8_rows,
    "Float8DynamicActivationFloat8WeightConfig": _float8,
}
