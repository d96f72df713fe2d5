"""llama.cpp's file types: mixes of block types, chosen tensor by tensor.

Source: llama.cpp tools/quantize/quantize.cpp at 03161a4, QUANT_OPTIONS; the mixes in src/llama-quant.cpp at 007dbbf.
"""

from kvplan.specs.paper import Scheme
from kvplan.specs.paper.ggml.mixes import MIXES
from kvplan.specs.paper.ggml.quantizer import packed

NAMES = (
    *("q1_0", "q2_0", "q4_0", "q4_1", "q5_0", "q5_1", "q8_0"),
    *("q2_k", "q2_k_s", "q3_k", "q3_k_s", "q3_k_m", "q3_k_l", "q4_k", "q4_k_s", "q4_k_m", "q5_k", "q5_k_s", "q5_k_m", "q6_k"),
    *("iq1_s", "iq1_m", "iq2_xxs", "iq2_xs", "iq2_s", "iq2_m", "iq3_xxs", "iq3_xs", "iq3_s", "iq3_m", "iq4_nl", "iq4_xs"),
    *("tq1_0", "tq2_0", "mxfp4_moe", "f16", "bf16", "f32"),
)
_SHORT = {"q3_k": "q3_k_m", "q4_k": "q4_k_m", "q5_k": "q5_k_m"}
_OFF_BY = (1, 1)  # the published files in tests/specs/test_paper.py lie within
_ROLES = {
    "value": "values",
    "key": "keys",
    "query": "queries",
    "out": "attention outputs",
    "down": "down projections",
    "inner": "gate and up projections",
}


def scheme(name: str) -> Scheme:
    """The file type that llama-quantize knows by this name."""
    whole = _SHORT.get(name, name)
    return Scheme(
        name=whole,
        rule=f"llama.cpp's file type {whole.upper()}: {_words(whole)}; vectors and routers in float32, towers in float16",
        how=f"make it with `llama-quantize MODEL.gguf {whole.upper()}`, or look for a GGUF of that name",
        format="gguf",
        off_by=_OFF_BY,
        applied=lambda spec: packed(spec, whole),
    )


def _words(name: str) -> str:
    mix = MIXES[name]
    if name == "mxfp4_moe":
        return f"experts in mxfp4, every other matrix in {mix.default}"
    special = [
        f"{label} in {' or '.join(dict.fromkeys(dtype for _, dtype in choices))}"
        for role, label in _ROLES.items()
        if (choices := getattr(mix, role))
    ]
    by_rule = f" (by layer and number of heads: {', '.join(special)})" if special else ""
    return f"matrices in {mix.default}{by_rule}, output projection in {mix.head}"
