"""How a quantized projection lies in a checkpoint: the packed weight, and the tensors that stand beside it."""

from kvplan.core.dtypes import DTYPES
from kvplan.core.model import WeightGroup
from kvplan.core.units import ceil_div
from kvplan.specs.config import Config
from kvplan.specs.parts.blocks import Groups

INT_BITS = {2: "int2", 3: "int3", 4: "int4", 8: "int8"}
MX_BLOCK, NVFP4_BLOCK = 32, 16


def packed(group: WeightGroup, dtype: str) -> WeightGroup:
    """The projection with its elements in ``dtype``."""
    return group._replace(dtype=DTYPES[dtype].name)


def beside(group: WeightGroup, name: str, rows: int, cols: int, dtype: str | None) -> WeightGroup:
    """A tensor of scales or zero points of ``group``; ``dtype`` None is the model's own."""
    stem = group.name.removesuffix(".weight")
    return WeightGroup(f"{stem}.{name}", "scale", rows, cols, group.n_copies, dtype=dtype, shard=group.shard)


def scalar(group: WeightGroup, name: str, dtype: str | None = "float32") -> WeightGroup:
    """One number beside ``group``."""
    return beside(group, name, 1, 1, dtype)


def read_bits(cfg: Config, *keys: str, default: int | None = None) -> int:
    """The bits of an element at the first of ``keys`` that is there. Raises ConfigError for a number that no layout packs."""
    bits = cfg.integer(*keys, default=default)
    if bits not in INT_BITS:
        key = next((key for key in keys if cfg.has(key)), keys[0])
        raise cfg.error(key, f"expected one of {', '.join(map(str, INT_BITS))}, found {bits}")
    return bits


def read_group_size(cfg: Config, *keys: str) -> int:
    """The group size at the first of ``keys`` that is there, 128 by default; −1 is the whole row."""
    size = cfg.integer(*keys, default=128, least=-1)
    if size == 0:
        raise cfg.error(next(key for key in keys if cfg.has(key)), "expected a number of inputs, or -1 for all of them, found 0")
    return size


def grouped(group: WeightGroup, bits: int, group_size: int, *, zero_points: bool, scale_dtype: str | None) -> Groups:
    """Integers of ``bits`` with one scale (and one zero point of the same bits) for ``group_size`` inputs of each output.

    ``group_size`` of −1 is one group for the whole row.
    """
    n_groups = n_groups_of(group, group_size)
    scales = beside(group, "scales", group.rows, n_groups, scale_dtype)
    zeros = (beside(group, "qzeros", n_groups, group.rows, INT_BITS[bits]),) if zero_points else ()
    return (packed(group, INT_BITS[bits]), scales, *zeros)


def n_groups_of(group: WeightGroup, group_size: int) -> int:
    """Groups in a row of ``group``."""
    return 1 if group_size < 0 else ceil_div(group.cols, group_size)


def blocked(group: WeightGroup, block: tuple[int, int], *, scale_dtype: str) -> Groups:
    """FP8 with one scale for each block of rows × columns."""
    scale = beside(group, "weight_scale_inv", ceil_div(group.rows, block[0]), ceil_div(group.cols, block[1]), scale_dtype)
    return (packed(group, "float8_e4m3fn"), scale)


def mxfp4(group: WeightGroup) -> Groups:
    """4-bit floats, and a byte of exponent for 32 of them. Source: OCP Microscaling Formats 1.0 §5.2."""
    return packed(group, "float4_e2m1"), beside(group, "weight_scale", group.rows, ceil_div(group.cols, MX_BLOCK), "float8_e8m0fnu")


def mxfp8(group: WeightGroup) -> Groups:
    """8-bit floats, and a byte of exponent for 32 of them. Source: OCP Microscaling Formats 1.0 §5.1."""
    return packed(group, "float8_e4m3fn"), beside(group, "weight_scale", group.rows, ceil_div(group.cols, MX_BLOCK), "float8_e8m0fnu")


def nvfp4(group: WeightGroup) -> Groups:
    """4-bit floats, an 8-bit float scale for 16 of them, and one float32 above these.

    Source: NVIDIA 2025, arXiv:2509.25149 §2.
    """
    scales = beside(group, "weight_scale", group.rows, ceil_div(group.cols, NVFP4_BLOCK), "float8_e4m3fn")
    return packed(group, "float4_e2m1"), scales, scalar(group, "weight_scale_2")
