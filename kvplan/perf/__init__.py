"""How fast: a roofline of bandwidth and arithmetic with measured efficiencies. Numbers in, ranges out; nothing is read or run.

Source of the form: kipply, "Transformer Inference Arithmetic" (2022); LLM-Viewer, arXiv:2402.16363 (an operator takes as long as its
bytes or its products, whichever is longer). Efficiencies and their rows: ``kvplan/perf/efficiency.py``.
"""

from kvplan.perf.efficiency import COMPILED, EAGER, GGML, LAUNCHED, SERVED, Efficiency
from kvplan.perf.roofline import crossover, performance, rate
from kvplan.perf.values import Demand, Growth, Machine, Performance, Question, Range, Traffic

__all__ = [
    "COMPILED",
    "EAGER",
    "GGML",
    "LAUNCHED",
    "SERVED",
    "Demand",
    "Efficiency",
    "Growth",
    "Machine",
    "Performance",
    "Question",
    "Range",
    "Traffic",
    "crossover",
    "performance",
    "rate",
]
