"""What a log prints of each term beside what the estimate says of it."""

from collections.abc import Mapping

from kvplan.core.units import GIB, format_size
from kvplan.estimator import Estimate
from kvplan.explainer import torch_ledger
from kvplan.explainer.case import Case
from kvplan.explainer.row import Row

_VLLM = {
    "weights": ("weights", "weights memory"),
    "activations": ("torch peak memory increase", "activation peak"),
    "workspace": ("non-torch forward increase", "non-torch memory"),
    "graphs": ("graphs", "estimated graphs"),
    "kv_cache": ("available KV cache memory", "KV cache in use"),
    "runtime_context": ("non-torch at start",),
}
_OTHERS: Mapping[str, Mapping[str, tuple[str, ...]]] = {
    "sglang": {"weights": ("weights",), "kv_cache": ("KV size",), "graphs": ("graphs",)},
    "tensorrt-llm": {"kv_cache": ("KV cache",), "weights": ("weights", "engine")},
}
_OLLAMA = {"weights": ("model weights",), "kv_cache": ("kv cache",), "compute_buffer": ("compute graph",)}
"""What its own runner takes, by device."""
_OLLAMA_EXPECTED = {"weights": ("weights",), "kv_cache": ("KV cache required",), "compute_buffer": ("graph, all on the GPU",)}
"""What it expected a runner to take."""
_LLAMA = {
    "weights": ("model buffer", "buffer"),
    "kv_cache": ("KV buffer",),
    "recurrent_state": ("RS buffer",),
    "compute_buffer": ("compute buffer",),
    "output_buffer": ("output buffer",),
}


def ledger(case: Case) -> tuple[Row, ...]:
    """One row a term that the log prints."""
    found = case.estimate()
    if case.engine in ("llama.cpp", "ollama"):
        return tuple(_row(case, term, size, found, everywhere=True) for term, size in _by_device(case).items())
    if case.engine == "transformers":
        return torch_ledger.rows(case)
    labels_of: Mapping[str, tuple[str, ...]] = _VLLM if case.engine == "vllm" else _OTHERS.get(case.engine or "", {})
    sizes = {term: case.size(*labels) for term, labels in labels_of.items()}
    if case.engine == "sglang" and (k := case.size("K")) is not None:
        sizes["kv_cache"] = k + (case.size("V") or 0)
    return tuple(_row(case, term, size, found) for term, size in sizes.items() if size is not None)


def _by_device(case: Case) -> dict[str, int]:
    """What llama.cpp prints, sums over devices; what Ollama does where it is another runner's log, or one that did not start."""
    for labels_of in (_LLAMA,) if case.engine == "llama.cpp" else (_LLAMA, _OLLAMA, _OLLAMA_EXPECTED):
        found = {term: size for term, labels in labels_of.items() if (size := _summed(case, labels)) is not None}
        if found and (labels_of is not _LLAMA or case.engine == "llama.cpp" or "KV buffer" in case.start.last):
            return found
    return {}


def _summed(case: Case, labels: tuple[str, ...]) -> int | None:
    """The sum over devices: of each, the last that the log prints, as probes print theirs before."""
    sizes = {figure.device: size for figure in case.start.every() if figure.label in labels and (size := figure.bytes) is not None}
    return sum(sizes.values()) if sizes else None


def _row(case: Case, term: str, printed: int, found: Estimate | None, *, everywhere: bool = False) -> Row:
    if found is None:
        return Row(term, printed, None)
    place = found.fullest.place.id
    sizes = [entry.size for entry in found.entries if entry.term == term and (everywhere or entry.place == place)]
    if not sizes:
        return Row(term, printed, None)
    low, best, high = (sum(size[i] for size in sizes) for i in range(3))
    beyond = printed - high if printed > high else printed - low if printed < low else 0
    return Row(term, printed, best, low, high, _why(case, term, beyond, found) if abs(beyond) > max(best // 200, GIB // 50) else "")


def _why(case: Case, term: str, beyond: int, found: Estimate) -> str:
    """Why a printed figure is outside the estimate's interval, as far as the log shows it."""
    if term == "workspace" and beyond > 0:
        return f"{format_size(beyond)} more than vLLM needs: memory of other processes, or page cache on unified memory, counts as its own"
    if term == "workspace":
        return "negative or too small: sleep mode's allocator, or a process that ended meanwhile"
    if term == "graphs":
        return "graphs vary with captured sizes and kernels: printed estimates were 0.7 to 2.2 times what was taken"
    if term == "kv_cache" and (case.count("pipeline_parallel_size") or 1) > 1:
        return "one stage's figure; the tokens follow the poorest stage, which holds the output layer"
    if term == "kv_cache" and (case.count("tensor_parallel_size") or 1) > 1:
        return "one rank's figure; the tokens follow the rank with least memory"
    if term == "kv_cache" and case.engine == "vllm":
        return "what the other terms differ by"
    if term == "activations":
        return "the profile run's peak: encoder input, kernels and the sampler's warm-up differ by version"
    if term == "compute_buffer" and case.version is not None and found.version != case.version:
        return f"estimated by the rules of {found.version}, the log is of {case.version}"
    if term == "weights":
        return "another checkpoint or quantization than the usual one, or a layout that kernels asked for"
    return ""
