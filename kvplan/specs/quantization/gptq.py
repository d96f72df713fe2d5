"""GPTQ: 2 to 8-bit groups with scales, zero points and the group of each input.

Source: Frantar et al. 2022, arXiv:2210.17323; GPTQModel 4.2 quantization/config.py; AutoRound 0.8 export/export_to_autoround.
"""

from collections.abc import Iterator

from kvplan.core.model import WeightGroup
from kvplan.specs.config import Config
from kvplan.specs.layouts import INT_BITS, beside, grouped, n_groups_of, packed, read_bits, read_group_size
from kvplan.specs.parts.blocks import Groups
from kvplan.specs.quantization import Part, Recipe, Rule, patterns

METHODS = ("gptq", "auto-round", "intel/auto-round")
IGNORES = ("modules_to_not_convert",)
LOADS_AS = "float16"  # update_dtype of transformers 5.24 quantizers/quantizer_gptq.py
_FULL_BITS = 16


def recipe(cfg: Config) -> Recipe:
    """``bits`` and ``group_size`` for all, or apart for the modules that ``dynamic`` or ``extra_config`` name.

    Raises ConfigError for bits that no layout has, and for GPTQ without any: only AutoRound has a default.
    """
    rest = _rule(cfg, cfg)
    inside = _listed(cfg)
    parts = (*_dynamic(cfg), *_extra(cfg), *((Part(patterns(cfg, "modules_in_block_to_quantize", inside), rest),) if inside else ()))
    if cfg.data.get("lm_head") is True:
        parts = (*parts, Part(patterns(cfg, "lm_head", ("lm_head",)), rest))
    return Recipe(None if inside else rest, parts)


def _rule(cfg: Config, own: Config) -> Rule | None:
    """How modules with the settings ``own`` lie; those with 16 bits or more are left alone."""
    by_name = _is_gptq(cfg)
    both = Config({**cfg.data, **own.data}, where=own.where, path=own.path)
    if own is not cfg and both.integer("bits", default=4) >= _FULL_BITS:
        return None
    bits, size = read_bits(both, "bits", default=None if by_name else 4), read_group_size(both, "group_size")
    if both.text("checkpoint_format", "format", default="gptq") == "marlin":
        return lambda group: (packed(group, INT_BITS[bits]), beside(group, "s", n_groups_of(group, size), group.rows, "float16"))
    awq_packed = "awq" in both.text("packing_format", "backend", default="")

    def stored(group: WeightGroup) -> Groups:
        order = (beside(group, "g_idx", group.cols, 1, "int32"),) if by_name and not awq_packed else ()
        return (*grouped(group, bits, size, zero_points=True, scale_dtype="float16"), *order)

    return stored


def _is_gptq(cfg: Config) -> bool:
    """AutoRound's own layout leaves the order of inputs out."""
    return cfg.text("quant_method", default="gptq") == "gptq" or "gptq" in cfg.text("packing_format", default="").split(":")[-1]


def _dynamic(cfg: Config) -> Iterator[Part]:
    """GPTQModel's exceptions: an expression that begins with ``-:`` leaves modules alone, one with ``+:`` or nothing changes settings."""
    dynamic = cfg.sub("dynamic")
    for expression in dynamic.data:
        names = patterns(cfg, "dynamic", (f"re:{expression.removeprefix('+:').removeprefix('-:')}",))
        yield Part(names, None if expression.startswith("-:") else _rule(cfg, dynamic.sub(expression)))


def _extra(cfg: Config) -> Iterator[Part]:
    """AutoRound's exceptions by a module's whole name."""
    extra = cfg.sub("extra_config")
    for name in extra.data:
        yield Part(patterns(cfg, "extra_config", (name,)), _rule(cfg, extra.sub(name)))


def _listed(cfg: Config) -> list[str]:
    """The projections of each block that are quantized, where only some are: a list of lists."""
    key = "modules_in_block_to_quantize"
    listed = cfg.data.get(key)
    if listed is None:
        return []
    if not isinstance(listed, list) or not all(isinstance(names, list) and all(isinstance(n, str) for n in names) for names in listed):
        raise cfg.error(key, "expected a list of lists of modules")
    return [name for names in listed for name in names]
