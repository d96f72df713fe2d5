"""What quantized linear layers hold for a moment beside their weights: a whole weight unpacked, or inputs and outputs in other types.

Source: bitsandbytes 0.50.2 autograd/_functions.py and backends/cuda/ops.py (MatMul4Bit, MatMul8bitLt, int8_scaled_mm); transformers
5.24 integrations/{awq,finegrained_fp8,mxfp4}.py; torchao 0.14 quantization/linear_quant_modules.py.
"""

from collections.abc import Iterator
from typing import NamedTuple

from kvplan.core.dtypes import PLAIN
from kvplan.core.ledger import ZERO, Entry, Interval
from kvplan.core.model import ModelSpec, WeightGroup

_LINEAR = ("attention", "mixer", "mlp", "shared_expert", "indexer")
FEW_TOKENS = 4
"""Up to here bitsandbytes multiplies 4-bit weights as they are, whatever the GPU; beyond it depends on the GPU and the shapes."""


class Way(NamedTuple):
    """How one method multiplies: ``weights`` are whole weights unpacked at once, at least, likely and at most; ``per_input`` and
    ``per_output`` are bytes for each element that the widest layer reads and writes."""

    weights: tuple[int, int, int]
    per_input: int = 0
    per_output: int = 0
    why: str = "no published source: up to one weight unpacked and converted"


UNKNOWN = Way((0, 1, 2))
WAYS: dict[tuple[str, str], Way] = {
    ("bitsandbytes", "int4"): Way(
        (0, 1, 1), why="bitsandbytes 0.50.2 backends/cuda/ops.py: beyond a few tokens a weight is unpacked first"
    ),
    ("bitsandbytes", "int8"): Way(
        (0, 0, 0), 3, 4, "bitsandbytes 0.50.2 MatMul8bitLt: inputs in float16 and int8, products in int32 before float16"
    ),
    ("awq", "int4"): Way((0, 0, 1), why="transformers 5.24 integrations/awq.py: kernels of GPTQModel; only its fallback unpacks"),
    ("gptq", "int4"): Way((0, 0, 1), why="GPTQModel's kernels; only its fallback unpacks a weight"),
    ("fp8", "float8_e4m3fn"): Way((0, 0, 0), 1, 0, "transformers 5.24 integrations/finegrained_fp8.py: inputs in fp8, with their scales"),
    ("mxfp4", "float4_e2m1"): Way((0, 0, 0), why="transformers 5.24 integrations/mxfp4.py: kernels read the experts as they lie"),
    ("torchao", "int4"): Way((0, 0, 1), why="torchao 0.14: int4 kernels; only other layouts unpack"),
    ("torchao", "int8"): Way((0, 1, 1), why="torchao 0.14 linear_quant_modules.py: an int8 weight becomes the inputs' type first"),
}
ON_THE_WAY = ("nf4", "nf4_double", "fp4", "bnb_8bit")
"""bitsandbytes' ways to quantize a plain checkpoint while it is loaded."""
_FAMILIES = {name: "bitsandbytes" for name in (*ON_THE_WAY, "bitsandbytes_4bit", "bitsandbytes_8bit")} | {
    "auto-round": "gptq",
    "intel/auto-round": "gptq",
}


class Unpacked(NamedTuple):
    """The largest linear layer of a quantized model: bytes of its weight in the type that the model computes in, its widths, the way."""

    weight_bytes: int
    inputs: int
    outputs: int
    way: Way

    def size(self, n_tokens: int) -> Interval:
        """What a pass over ``n_tokens`` holds; one weight is counted for any pass, as some GPUs unpack for few tokens too."""
        flowing = n_tokens * (self.inputs * self.way.per_input + self.outputs * self.way.per_output)
        low, best, high = (self.weight_bytes * n for n in self.way.weights)
        return Interval(low, best + flowing, high + flowing)


NOTHING = Unpacked(0, 0, 0, Way((0, 0, 0)))


def unpacked(model: ModelSpec, elem_bytes: int) -> Unpacked:
    """The largest linear layer that ``model`` keeps quantized; nothing for a model that is not."""
    groups = list(_quantized(model))
    if model.quantization is None or not groups:
        return NOTHING
    largest = max(groups, key=lambda group: group.rows * group.cols)
    method = _FAMILIES.get(model.quantization, model.quantization)
    way = WAYS.get((method, largest.dtype or ""), UNKNOWN)
    widest_in, widest_out = max(group.cols for group in groups), max(group.rows for group in groups)
    return Unpacked(elem_bytes * largest.rows * largest.cols, widest_in, widest_out, way)


def _quantized(model: ModelSpec) -> Iterator[WeightGroup]:
    """Matrices of linear layers in few bits; experts are multiplied in groups by kernels of their own."""
    for layer in {id(run.layer): run.layer for run in model.runs}.values():
        yield from (group for group in layer.weights if group.role in _LINEAR and group.dtype not in (None, *PLAIN))


def entry(held: Unpacked, n_tokens: int) -> Entry:
    """What is unpacked at the worst moment."""
    size = held.size(n_tokens)
    return Entry(
        term="activations",
        name="unpacked weights",
        place="gpu0",
        size=size,
        basis="modeled",
        formula="up to {weights} × {weight} B, and for each of {tokens} tokens {inputs} · {per_input} B + {outputs} · {per_output} B",
        inputs={
            "weights": held.way.weights[2],
            "weight": held.weight_bytes,
            "tokens": n_tokens,
            "inputs": held.inputs,
            "per_input": held.way.per_input,
            "outputs": held.outputs,
            "per_output": held.way.per_output,
        },
        source=held.way.why,
    )


def is_nothing(held: Unpacked) -> bool:
    """Whether no size is ever more than zero."""
    return held.size(1) == ZERO
