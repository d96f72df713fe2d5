"""Which block type llama.cpp's quantizer gives a tensor of each role, file type by file type.

Source: llama.cpp src/llama-quant.cpp at 007dbbf, llama_tensor_get_type_impl, llama_ftype_get_default_type, tensor_type_fallback.
"""

from collections.abc import Callable
from typing import NamedTuple

from kvplan.core.dtypes import DTYPES


class Spot(NamedTuple):
    """Where a tensor is: the ``i``-th of ``n`` of its role, in a model of ``group`` heads to a KV head and ``n_experts``."""

    i: int
    n: int
    group: int
    n_experts: int


Choices = tuple[tuple[str, str], ...]
"""Conditions and block types; the first condition that holds decides."""


class Mix(NamedTuple):
    """A file type: ``default`` for every matrix, and what some roles get instead.

    ``value`` is also for fused projections of queries, keys and values; ``inner`` are the gate and up projections;
    ``eight`` is the attention's output projection in a model of eight experts. ``embedding`` is for untied ones.
    """

    default: str
    value: Choices = ()
    key: Choices = ()
    query: Choices = ()
    out: Choices = ()
    down: Choices = ()
    inner: Choices = ()
    eight: str | None = None
    head: str = "q6_k"
    embedding: str | None = None

    @property
    def is_packed(self) -> bool:
        """Whether matrices lie in blocks at all."""
        return DTYPES[self.default].block_elems > 1


def _more_bits(spot: Spot) -> bool:
    """The first and the last eighth, and every third between."""
    first = spot.n // 8
    return spot.i < first or spot.i >= 7 * spot.n // 8 or (spot.i - first) % 3 == 2


_HOLDS: dict[str, Callable[[Spot], bool]] = {
    "always": lambda spot: True,
    "first 2": lambda spot: spot.i < 2,
    "first 4": lambda spot: spot.i < 4,
    "first 16th": lambda spot: spot.i < spot.n // 16,
    "first 8th": lambda spot: spot.i < spot.n // 8,
    "middle": lambda spot: spot.n // 8 <= spot.i < 7 * spot.n // 8,
    "more bits": _more_bits,
    "grouped": lambda spot: spot.group >= 4,
    "grouped or experts": lambda spot: spot.group >= 4 or spot.n_experts >= 4,
    "eight experts": lambda spot: spot.n_experts == EIGHT,
    "eight, more bits": lambda spot: spot.n_experts == EIGHT and _more_bits(spot),
}
EIGHT = 8
"""Mixtral's experts, for which the quantizer has rules of its own."""


def chosen(choices: Choices, spot: Spot, default: str) -> str:
    """The block type of the first condition that holds."""
    return next((dtype for condition, dtype in choices if _HOLDS[condition](spot)), default)


def _always(dtype: str) -> Choices:
    return (("always", dtype),)


def _tiny(default: str, *, value: str, out: Choices, embedding: str) -> Mix:
    """The types of 1 and 2 bits, which need an importance matrix."""
    return Mix(
        default,
        value=(("grouped or experts", "q4_k"), ("always", value)),
        key=(("eight experts", "q4_k"),),
        down=(("first 8th", value),),
        out=out,
        eight="q5_k",
        head="q5_k",
        embedding=embedding,
    )


MIXES = {
    "q1_0": Mix("q1_0"),
    "q2_0": Mix("q2_0", embedding="q4_k"),
    "q4_0": Mix("q4_0"),
    "q4_1": Mix("q4_1"),
    "q5_0": Mix("q5_0"),
    "q5_1": Mix("q5_1"),
    "q8_0": Mix("q8_0", head="q8_0"),
    "q2_k": Mix("q2_k", value=(("grouped", "q4_k"), ("always", "q3_k")), out=_always("q3_k"), down=_always("q3_k"), eight="q5_k"),
    "q2_k_s": Mix("q2_k", value=(("grouped", "q4_k"),), down=(("first 8th", "q4_k"),)),
    "q3_k_s": Mix("q3_k", eight="q5_k"),
    "q3_k_m": Mix(
        "q3_k",
        value=(("first 2", "q5_k"), ("always", "q4_k")),
        out=_always("q4_k"),
        down=(("first 16th", "q5_k"), ("always", "q4_k")),
        eight="q5_k",
    ),
    "q3_k_l": Mix("q3_k", value=_always("q5_k"), out=_always("q5_k"), down=_always("q5_k")),
    "q4_k_s": Mix("q4_k", value=(("first 4", "q5_k"),), down=(("first 8th", "q5_k"),), eight="q5_k"),
    "q4_k_m": Mix("q4_k", value=(("more bits", "q6_k"),), down=(("more bits", "q6_k"),), eight="q5_k"),
    "q5_k_s": Mix("q5_k"),
    "q5_k_m": Mix("q5_k", value=(("more bits", "q6_k"),), down=(("more bits", "q6_k"),)),
    "q6_k": Mix("q6_k"),
    "iq1_s": _tiny("iq1_s", value="q2_k", out=_always("iq2_xxs"), embedding="q2_k"),
    "iq1_m": _tiny("iq1_m", value="q2_k", out=_always("iq2_xxs"), embedding="q2_k"),
    "iq2_xxs": _tiny("iq2_xxs", value="q2_k", out=(), embedding="q2_k"),
    "iq2_xs": _tiny("iq2_xs", value="q2_k", out=(), embedding="q2_k"),
    "iq2_s": _tiny("iq2_xs", value="iq3_s", out=_always("iq3_s"), embedding="iq3_s"),
    "iq2_m": _tiny("iq2_s", value="iq3_s", out=_always("iq3_s"), embedding="iq3_s"),
    "iq3_xxs": Mix(
        "iq3_xxs",
        value=(("grouped", "q4_k"),),
        key=_always("iq2_s"),
        query=_always("iq2_s"),
        out=_always("iq3_s"),
        eight="q5_k",
        head="q5_k",
        embedding="iq3_s",
    ),
    "iq3_xs": Mix(
        "iq3_s",
        value=(("grouped", "q4_k"),),
        key=_always("iq3_xxs"),
        query=_always("iq3_xxs"),
        inner=(("middle", "iq3_xxs"),),
        eight="q5_k",
    ),
    "iq3_s": Mix("iq3_s", value=(("grouped", "q4_k"),), eight="q5_k"),
    "iq3_m": Mix(
        "iq3_s",
        value=_always("q4_k"),
        out=_always("q4_k"),
        down=(("first 8th", "q4_k"), ("eight, more bits", "q4_k")),
        eight="q5_k",
    ),
    "iq4_nl": Mix("iq4_nl", value=(("grouped", "q5_k"),), down=(("first 8th", "q5_k"),), eight="q5_k"),
    "iq4_xs": Mix("iq4_xs", value=(("grouped", "q5_k"),), down=(("first 8th", "q5_k"),), eight="q5_k"),
    "tq1_0": Mix("tq1_0", embedding="q4_k"),
    "tq2_0": Mix("tq2_0", embedding="q4_k"),
    "mxfp4_moe": Mix("q8_0", head="q8_0"),
    "f16": Mix("float16", head="float16"),
    "bf16": Mix("bfloat16", head="bfloat16"),
    "f32": Mix("float32", head="float32"),
}

_FALCON = {
    "q3_k_m": MIXES["q3_k_m"]._replace(down=(("first 16th", "q5_k"), ("more bits", "q4_k"))),
    "q3_k_l": MIXES["q3_k_l"]._replace(out=_always("q4_k"), down=_always("q4_k")),
    "q4_k_m": MIXES["q4_k_m"]._replace(down=(("first 16th", "q6_k"), ("more bits", "q5_k"))),
    "q4_k_s": MIXES["q4_k_s"]._replace(down=()),
}

TINY = ("iq1_s", "iq1_m", "iq2_xxs", "iq2_xs", "iq2_s", "iq2_m")


def mix_of(name: str, *, falcon: bool) -> Mix:
    """The file type ``name``; Falcon has rules of its own, and a wider output projection."""
    if not falcon or not MIXES[name].is_packed:
        return MIXES[name]
    mix = _FALCON.get(name, MIXES[name])
    return mix._replace(head="q8_0", out=mix.out if name in (*TINY, "q3_k_l") else ())


_FALLBACKS = {
    **dict.fromkeys(("iq1_s", "iq1_m", "iq2_xxs", "iq2_xs", "iq2_s", "iq3_xxs", "iq3_s", "iq4_xs"), "iq4_nl"),
    **dict.fromkeys(("q2_0", "q2_k", "q3_k", "tq1_0", "tq2_0"), "q4_0"),
    "q4_k": "q5_0",
    "q5_k": "q5_1",
    "q6_k": "q8_0",
}


def fitting(dtype: str, n_cols: int) -> str:
    """``dtype``, or what stands for it where its blocks don't divide a row: a type of 32 elements, else float16."""
    if n_cols % DTYPES[dtype].block_elems == 0:
        return dtype
    other = _FALLBACKS.get(dtype, "float16")
    return other if n_cols % DTYPES[other].block_elems == 0 else "float16"
