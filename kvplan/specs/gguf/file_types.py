"""The mix of element types that a GGUF file was made with, by the number in ``general.file_type``.

Source: llama.cpp b11434 include/llama.h, enum llama_ftype.
"""

from kvplan.specs.gguf.header import Header

# fmt: off
FILE_TYPES = {
    2: "q4_0", 3: "q4_1", 7: "q8_0", 8: "q5_0", 9: "q5_1", 10: "q2_k", 11: "q3_k_s", 12: "q3_k_m", 13: "q3_k_l", 14: "q4_k_s",
    15: "q4_k_m", 16: "q5_k_s", 17: "q5_k_m", 18: "q6_k", 19: "iq2_xxs", 20: "iq2_xs", 21: "q2_k_s", 22: "iq3_xs", 23: "iq3_xxs",
    24: "iq1_s", 25: "iq4_nl", 26: "iq3_s", 27: "iq3_m", 28: "iq2_s", 29: "iq2_m", 30: "iq4_xs", 31: "iq1_m", 36: "tq1_0",
    37: "tq2_0", 38: "mxfp4_moe", 39: "nvfp4", 40: "q1_0", 41: "q2_0",
}
# fmt: on


def quantization(header: Header) -> str | None:
    """The name of the mix; None where the file names none, or one of whole numbers of bytes per element (f32, f16, bf16)."""
    number = header.values.get("general.file_type")
    return FILE_TYPES.get(number) if isinstance(number, int) else None
