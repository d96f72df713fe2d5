"""What a card gives, as the catalogue has it: the kind of its memory, its arithmetic for such weights, what joins it to others."""

import re

from kvplan import perf
from kvplan.core.device import Gpu
from kvplan.core.model import ModelSpec
from kvplan.perf.traffic import Shape, run_dtype

_PCIE = {"3": 32e9, "4": 64e9, "5": 128e9}
_LINK = re.compile(r"([0-9.]+) ?([GT])B/s")
_FP4 = ("nvfp4", "float4_e2m1")


def memory(gpu: Gpu) -> str:
    """The kind of memory: ``unified`` with a host, ``hbm``, else ``gddr``."""
    return "unified" if gpu.unified else "hbm" if gpu.memory_type.startswith("HBM") else "gddr"


def peaks(gpu: Gpu, main: str, engine: str) -> tuple[float, float]:
    """Dense TFLOPS in 16 bits, and in the type in which this class of engines multiplies weights in ``main``; 0 where nobody published it.

    llama.cpp adds up in 16 bits or integers, which GeForce cards do twice as fast as the 32 bits of the catalogue.
    """
    plain = gpu.bf16_tflops or gpu.fp16_tflops or 0.0
    if engine == perf.GGML:
        least = (gpu.int8_tops or 0.0) / 4  # Pascal multiplies bytes, hardly halves
        plain = max((gpu.fp16_tflops or 0.0) * (2 if gpu.name.startswith("GeForce") else 1), least)
        return plain, plain
    if engine != perf.EAGER and main.startswith("float8"):
        return plain, gpu.fp8_tflops or plain
    if engine != perf.EAGER and main in _FP4:
        return plain, gpu.fp4_tflops or plain
    return plain, plain


def main_dtype(model: ModelSpec, linear: str | None = None) -> str:
    """The type of the largest weights once loaded; ``linear`` is what unquantized linear layers are brought to. MXFP4's kernels
    multiply in 16 bits, whatever its elements are."""
    if model.quantization == "mxfp4":
        return "mxfp4"
    largest = max(model.groups(), key=lambda group: group.n_params)
    return run_dtype(largest, Shape(model.stored_dtype, linear=linear))


def link(interconnect: str) -> float:
    """B/s between two cards, both directions; a bridge joins only pairs and is often left out, so the bus counts there."""
    found = _LINK.search(interconnect)
    if found and "bridge" not in interconnect:
        return float(found[1]) * (1e12 if found[2] == "T" else 1e9)
    bus = re.search(r"PCIe([345])", interconnect)
    return _PCIE[bus[1] if bus else "4"] / (2 if "x8" in interconnect else 1)
