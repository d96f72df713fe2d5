"""MLX: groups of few bits with a scale and a bias each, embeddings and output projection included.

Source: mlx 0.29 docs, mlx.core.quantize; mlx-lm 0.28 utils.py, quantize_model.
"""

from kvplan.core.model import WeightGroup
from kvplan.specs.config import Config
from kvplan.specs.layouts import INT_BITS, beside, mxfp4, n_groups_of, packed
from kvplan.specs.parts.blocks import Groups
from kvplan.specs.quantization import Part, Recipe, Rule, patterns

METHODS = ("mlx", "metal")
IGNORES = ("modules_to_not_convert",)
_BITS = INT_BITS | {5: "int5", 6: "int6"}


def recipe(cfg: Config) -> Recipe:
    """``bits`` and ``group_size`` of all modules, or of one by its name; false leaves that one alone."""
    rule = _rule(cfg)
    parts = [Part(patterns(cfg, name, (name,)), _rule(cfg.sub(name))) for name, value in cfg.data.items() if isinstance(value, dict)]
    kept = [name for name, value in cfg.data.items() if value is False]
    ends = rule if cfg.text("quant_method", default="mlx") == "mlx" else None  # Transformers' own writer leaves them alone
    return Recipe(rule, (*parts, Part(patterns(cfg, "quantization", kept), None)), ends=ends)


def _rule(cfg: Config) -> Rule:
    if cfg.text("mode", default="affine") == "mxfp4":
        return mxfp4
    bits, size = cfg.integer("bits", default=4), cfg.integer("group_size", default=64)
    if bits not in _BITS:
        raise cfg.error("bits", f"expected one of {', '.join(map(str, sorted(_BITS)))}, found {bits}")

    def stored(group: WeightGroup) -> Groups:
        n_groups = n_groups_of(group, size)
        return packed(group, _BITS[bits]), *(beside(group, name, group.rows, n_groups, None) for name in ("scales", "biases"))

    return stored
