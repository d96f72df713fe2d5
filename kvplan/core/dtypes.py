"""Element types as exact pairs (elements in a block, bytes of a block); never a float."""

from typing import NamedTuple

from kvplan.core.errors import RequestError, did_you_mean
from kvplan.core.units import ceil_div


class DType(NamedTuple):
    """How ``block_elems`` consecutive elements of a row are stored in ``block_bytes``."""

    name: str
    block_elems: int
    block_bytes: int

    def row_bytes(self, n_elems: int) -> int:
        """Bytes of one row: whole blocks."""
        return ceil_div(n_elems, self.block_elems) * self.block_bytes


DTYPES = {
    name: DType(name, elems, n_bytes)
    for name, elems, n_bytes in (
        ("complex64", 1, 8),
        ("float64", 1, 8),
        ("float32", 1, 4),
        ("float16", 1, 2),
        ("bfloat16", 1, 2),
        ("float8_e4m3fn", 1, 1),
        ("float8_e5m2", 1, 1),
        ("float8_e8m0fnu", 1, 1),
        ("float8_e4m3fnuz", 1, 1),
        ("float8_e5m2fnuz", 1, 1),
        ("float6_e2m3", 4, 3),
        ("float6_e3m2", 4, 3),
        ("float4_e2m1", 2, 1),
        ("int64", 1, 8),
        ("int32", 1, 4),
        ("int16", 1, 2),
        ("int8", 1, 1),
        ("uint64", 1, 8),
        ("uint32", 1, 4),
        ("uint16", 1, 2),
        ("uint8", 1, 1),
        ("int6", 4, 3),
        ("int5", 8, 5),
        ("int4", 2, 1),
        ("int3", 8, 3),
        ("int2", 4, 1),
        ("bool", 1, 1),
        # GGML's blocks; source: ggml 0.26 ggml-common.h, block_q4_0 and its siblings
        ("q1_0", 128, 18),
        ("q2_0", 64, 18),
        ("q4_0", 32, 18),
        ("q4_1", 32, 20),
        ("q5_0", 32, 22),
        ("q5_1", 32, 24),
        ("q8_0", 32, 34),
        ("q8_1", 32, 36),
        ("q2_k", 256, 84),
        ("q3_k", 256, 110),
        ("q4_k", 256, 144),
        ("q5_k", 256, 176),
        ("q6_k", 256, 210),
        ("q8_k", 256, 292),
        ("iq1_s", 256, 50),
        ("iq1_m", 256, 56),
        ("iq2_xxs", 256, 66),
        ("iq2_xs", 256, 74),
        ("iq2_s", 256, 82),
        ("iq3_xxs", 256, 98),
        ("iq3_s", 256, 110),
        ("iq4_nl", 32, 18),
        ("iq4_xs", 256, 136),
        ("tq1_0", 256, 54),
        ("tq2_0", 256, 66),
        ("mxfp4", 32, 17),
        ("nf4", 64, 36),
        ("nvfp4", 64, 36),
    )
}

PLAIN = ("float32", "float16", "bfloat16", "float64")
"""What weights are kept in where nothing is quantized."""

_ALIASES = {
    "fp64": "float64",
    "double": "float64",
    "fp32": "float32",
    "float": "float32",
    "f32": "float32",
    "fp16": "float16",
    "half": "float16",
    "f16": "float16",
    "bf16": "bfloat16",
    "fp8": "float8_e4m3fn",
    "float8": "float8_e4m3fn",
    "fp8_e4m3": "float8_e4m3fn",
    "fp8_e5m2": "float8_e5m2",
}


def dtype(name: str, *, where: str = "dtype") -> DType:
    """The element type called ``name``; ``torch.`` prefixes and short names (fp16, bf16) are known.

    Raises RequestError with near matches for any other name.
    """
    plain = name.removeprefix("torch.").lower()
    found = DTYPES.get(_ALIASES.get(plain, plain))
    if found is None:
        raise RequestError(
            "unknown_dtype",
            f"{where}: unknown element type '{name}'",
            hint=did_you_mean(plain, [*DTYPES, *_ALIASES]) or f"known: {', '.join(DTYPES)}",
        )
    return found
