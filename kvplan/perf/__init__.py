"""How fast: a roofline of bandwidth and arithmetic with measured efficiencies. Numbers in, ranges out; nothing is read or run.

Source of the form: kipply, "Transformer Inference Arithmetic" (2022); LLM-Viewer, arXiv:2402.16363 (an operator takes as long as its
bytes or its products, whichever is longer). Efficiencies and their rows: ``kvplan/perf/efficiency.py``.
"""

from kvplan.perf.efficiency import COMPILED, EAGER, GGML, SERVED, Efficiency, efficiency
from kvplan.perf.roofline import performance
from kvplan.perf.values import Demand, Growth, Machine, Performance, Range, Traffic

__all__ = [
    "COMPILED",
    "EAGER",
    "GGML",
    "SERVED",
    "Demand",
    "Efficiency",
    "Growth",
    "Machine",
    "Performance",
    "Range",
    "Traffic",
    "efficiency",
    "performance",
]
