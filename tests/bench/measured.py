"""Measured rows of speed as questions to ``kvplan.perf``: the model, precision, card, lengths and batch that each names."""

import csv
import re
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import kvplan
from kvplan import perf
from kvplan.core.device import Gpu
from kvplan.core.errors import KvplanError
from kvplan.core.model import ModelSpec
from kvplan.estimator import rates
from kvplan.hardware import catalog
from kvplan.perf.steps import cache_bytes
from kvplan.perf.traffic import Shape, traffic
from kvplan.specs import paper

SHORT_TOKENS = 512
"""What a row that names no length is taken to have written."""

MAX_LOAD = "max-load throughput"
"""Kind of the rows whose batch is what the pool holds: scored beside the bar, as they test the memory that is left, too."""

_SAME = {
    "llama-7b": "llama-2-7b",
    "llama-13b": "llama-2-13b",
    "llama-70b": "llama-2-70b",
    "deepseek-r1-0528": "deepseek-v3",
    "llama-3.1-405b": "llama-3.1-405b-fp8",
}
_SCHEMES = {"fp4": "nvfp4", "bf16": "bfloat16", "fp16": "float16", "f16": "float16"}
_KV_BYTES = {"fp8": 1.0, "q8_0": 34 / 32, "q4_0": 18 / 32}
_CLASSES = (
    ("tensorrt", perf.COMPILED),
    ("vllm", perf.SERVED),
    ("sglang", perf.SERVED),
    ("llama.cpp", perf.GGML),
    ("mlc", perf.COMPILED),
    ("exllama", perf.SERVED),
)
_OUT = {
    "kernel GEMM": "one kernel, not a model",
    "KV capacity": "memory, not speed",
    "OOM fact": "memory, not speed",
}


class Case(NamedTuple):
    """One measured row and what it takes to predict it; ``predicted`` reads the measured quantity off a Performance."""

    id: str
    kind: str
    what: str
    gpu: str
    source: str
    engine: str
    traffic: perf.Traffic
    machine: perf.Machine
    demand: perf.Demand
    measured: float
    predicted: Callable[[perf.Performance], perf.Range]


class OutOfScopeError(Exception):
    """Why a row can't be scored."""


def cases(path: Path) -> tuple[list[Case], list[tuple[str, str]]]:
    """The rows in scope, and the others with why."""
    found, left_out = [], []
    for row in csv.DictReader(path.read_text(encoding="utf-8").splitlines(), delimiter="\t", quoting=csv.QUOTE_NONE):
        try:
            found.append(_case(row))
        except (OutOfScopeError, KvplanError) as problem:
            left_out.append((f"{row['id']} {row['kind']} {row['model']}", str(problem)))
    return found, left_out


def _case(row: dict[str, str]) -> Case:
    kind = row["kind"]
    if kind in _OUT:
        raise OutOfScopeError(_OUT[kind])
    if row["parallel"].startswith("DEP"):
        raise OutOfScopeError("attention replicated and experts spread over cards, which is not modeled")
    if not re.fullmatch(r"[0-9.]+", row["value"]):
        raise OutOfScopeError("no number was measured")
    if "swaps" in row["note"]:
        raise OutOfScopeError("the machine swaps")
    engine = next((found for word, found in _CLASSES if word in row["engine"].lower()), None)
    if engine is None:
        raise OutOfScopeError(f"{row['engine']}: no class of engines that is modeled")
    model, gpu = _model(row), _gpu(row["gpu"])
    n_gpus = int(row["n_gpus"])
    tp = n_gpus if row["parallel"].startswith("TP") else 1
    kv = _KV_BYTES.get(row["kv_dtype"], 2.0)
    plain, products = rates.peaks(gpu, rates.main_dtype(model), engine)
    if not gpu.bandwidth_gb_s or not plain:
        raise OutOfScopeError(f"{gpu.name}: bandwidth or arithmetic unknown")
    machine = perf.Machine(
        memory=rates.memory(gpu),
        bandwidth=gpu.bandwidth_gb_s * 1e9,
        flops=plain * 1e12,
        product_flops=products * 1e12,
        link_bandwidth=rates.link(gpu.interconnect),
        tp=tp,
        pp=n_gpus // tp,
    )
    moved = _moved(row, engine, traffic(model, Shape(model.stored_dtype, kv, kv, tp=tp)))
    demand, predicted = _asked(row, n_gpus)
    if kind == MAX_LOAD:
        demand = demand._replace(batch=_held(moved, gpu, demand))
    return Case(
        id=row["id"],
        kind=kind,
        what=f"{row['model']} {row['weight_dtype']} {row['batch_or_conc']}×{row['isl']}/{row['osl_or_depth']}",
        gpu=f"{n_gpus}×{gpu.id}",
        source=row["source"],
        engine=engine,
        traffic=moved,
        machine=machine,
        demand=demand,
        measured=float(row["value"]) / (1000 if row["unit"] == "ms" else 1),
        predicted=predicted,
    )


def _model(row: dict[str, str]) -> ModelSpec:
    name = row["model"].lower().replace(" ", "-")
    spec = kvplan.load_model(_SAME.get(name, name))
    scheme = _SCHEMES.get(row["weight_dtype"].lower(), row["weight_dtype"].lower())
    if scheme == spec.quantization:
        return spec
    return paper.requantized(spec, scheme)


def _gpu(name: str) -> Gpu:
    """The card; of Apple's chips the one with as many cores, whatever the memory beside it."""
    found = re.fullmatch(r"(M\d(?: \w+)?) (\d+)-core.*", name)
    if found is None:
        return catalog.find(name)
    chips = [catalog.find(gpu_id) for gpu_id in catalog.rows() if catalog.find(gpu_id).name.startswith(found[1] + " ")]
    return next((gpu for gpu in chips if f"({found[2]}c)" in gpu.name), chips[0])


def _moved(row: dict[str, str], engine: str, found: perf.Traffic) -> perf.Traffic:
    """With the bytes of the file where llama.cpp reads experts: makers of such files narrow what is beside them, too."""
    if engine != perf.GGML or not row["weight_gb"] or not found.n_experts:
        return found
    beside = float(row["weight_gb"]) * 1e9 - found.expert_bytes
    both = found.dense_bytes + found.row_flops  # an embedding as large as the head, 2 bytes each
    return found._replace(dense_bytes=found.dense_bytes * min(1.0, beside / both))


def _held(moved: perf.Traffic, gpu: Gpu, demand: perf.Demand) -> int:
    """Whole requests that lie in 0.9 of what weights and 4 GB leave, TensorRT-LLM's default share."""
    free = gpu.cuda_bytes - moved.dense_bytes - moved.expert_bytes - moved.row_flops - 4e9  # an embedding like the head, 2 bytes each
    return max(1, int(0.9 * free / cache_bytes(moved.growth, demand.prompt_tokens + demand.output_tokens)))


def _asked(row: dict[str, str], n_gpus: int) -> tuple[perf.Demand, Callable[[perf.Performance], perf.Range]]:
    """What was measured: the demand, and how to read the measured quantity."""
    batch, prompt, depth = (_number(row[name]) for name in ("batch_or_conc", "isl", "osl_or_depth"))
    chunk = 512 if row["engine"] == "llama.cpp" else 8192
    eager = "May 2024" in row["source"] or "Dec 2023" in row["source"]  # llama.cpp's flash attention was an option then
    demand = perf.Demand(batch or 1, prompt or 1, depth or 1, chunk_tokens=chunk, eager_scores=eager)
    match row["kind"].split(",")[0], row["metric"].partition(" ")[0]:
        case ("TTFT", _) | ("load test", "TTFT"):
            return demand, lambda found: found.ttft_s
        case "load test", "ITL":
            return demand, lambda found: found.tpot_s
        case (("fixed-batch throughput" | "max-load throughput" | "load test"), _):
            return demand, lambda found: _scaled(found.requests_per_s, (depth or 0) / n_gpus)
        case (("llama.cpp pp" | "batch-1 prefill"), _):
            return demand, lambda found: _inverse(found.ttft_s, prompt or 0)
        case (("llama.cpp tg" | "batch-1 decode"), _):
            return demand._replace(output_tokens=depth or SHORT_TOKENS), lambda found: found.decode_tokens_per_s
        case "decode vs context", _:
            return demand._replace(prompt_tokens=depth or 1, output_tokens=1), lambda found: found.decode_tokens_per_s
        case "ITL fit vs context", _:
            return demand._replace(output_tokens=1), lambda found: found.tpot_s
        case other, _:
            raise OutOfScopeError(f"{other}: not a kind that is scored")


def _number(text: str) -> int | None:
    found = re.fullmatch(r"~?(\d+)", text)
    return int(found[1]) if found else None


def _scaled(found: perf.Range, factor: float) -> perf.Range:
    return perf.Range(found.low * factor, found.best * factor, found.high * factor)


def _inverse(seconds: perf.Range, amount: float) -> perf.Range:
    return perf.Range(amount / seconds.high, amount / seconds.best, amount / seconds.low)
