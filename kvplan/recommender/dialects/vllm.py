"""How the knobs are called in ``vllm serve``, and what vLLM makes of weights and caches on which card."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType

from kvplan.core.device import Gpu
from kvplan.core.model import ModelSpec
from kvplan.estimator import Estimate
from kvplan.recommender.case import Case, Spelling
from kvplan.recommender.plan import STORED, Form, Plan

NAMES = ("vllm",)
_AMPERE, _ADA, _TURING = (8, 0), (8, 9), (7, 5)
_FP8_GFX = ("gfx942", "gfx950", "gfx1200", "gfx1201")
"""AMD's instruction sets with FP8 matrices. Source: vllm 0.33 platforms/rocm.py, supports_fp8."""


class VllmDialect:
    """Flags of vLLM's server."""

    engine = NAMES[0]
    reserves = False
    most_sequences = 256
    spellings: Mapping[str, tuple[Spelling, ...]] = MappingProxyType(
        {
            "ctx_tokens": (Spelling("--max-model-len", ("--max_model_len",)),),
            "sequences": (Spelling("--max-num-seqs", ("--max_num_seqs",)),),
            "weights": (Spelling("--quantization", ("-q",)),),
            "cache": (Spelling("--kv-cache-dtype", ("--kv_cache_dtype",)),),
            "tp": (Spelling("--tensor-parallel-size", ("-tp", "--tensor_parallel_size")),),
            "pp": (Spelling("--pipeline-parallel-size", ("-pp", "--pipeline_parallel_size")),),
            "dp": (Spelling("--data-parallel-size", ("-dp", "--data_parallel_size")),),
            "step_tokens": (Spelling("--max-num-batched-tokens", ("--max_num_batched_tokens",)),),
            "graphs": (Spelling("--enforce-eager", ("--enforce_eager",)),),
            "utilization": (Spelling("--gpu-memory-utilization", ("--gpu_memory_utilization",)),),
        }
    )

    def placed(self, plan: Plan, model: ModelSpec) -> Plan:
        """vLLM has everything there."""
        return plan

    def plain(self, model: str, *, n_cards: int) -> tuple[str, ...]:
        """Its server with the model alone."""
        return "vllm", "serve", model

    def read(self, found: Estimate, form: str | None) -> Plan:
        """vLLM's settings; a quantization of its own making is one that the checkpoint does not have."""
        shown = found.settings
        own = form is None and found.model.quantization is None
        return Plan(
            ctx_tokens=int(shown["max_model_len"] or 0),
            sequences=int(shown["max_num_seqs"] or 0),
            weights=str(shown.get("quantization") or STORED) if own else form or STORED,
            cache=str(shown["kv_cache_dtype"]),
            tp=int(shown["tp"] or 1),
            pp=int(shown["pp"] or 1),
            dp=int(shown["dp"] or 1),
            step_tokens=int(shown["max_num_batched_tokens"] or 0),
            graphs=not shown["enforce_eager"],
            utilization=float(shown["gpu_memory_utilization"] or 0),
        )

    def said(self, knob: str, plan: Plan) -> str:
        """A checkpoint that is quantized says so itself."""
        if knob == "weights":
            return plan.weights if plan.weights in _ON_LOAD else ""
        if knob == "graphs":
            return "" if plan.graphs else "on"
        value = getattr(plan, knob)
        return f"{value:g}" if isinstance(value, float) else str(value)

    def forms(self, case: Case) -> Sequence[Form]:
        """As stored; FP8 and nf4 made while loading; AWQ, which somebody has to make."""
        gpu = case.first.node.gpus[0] if case.first.node.gpus else None
        stored = Form(STORED, case.stored_bits)
        if case.form is not None:
            return (Form(case.form, case.stored_bits, on_load=False, how=_HOW_GIVEN),)
        own = () if case.model.quantization else (form for form in _ON_LOAD.values() if _makes(form.name, case, gpu))
        paper = (_AWQ,) if stored.bits > _AWQ.bits + 1 and _runs_awq(gpu) else ()
        return (stored, *own, *paper)

    def caches(self, case: Case) -> Sequence[str]:
        """FP8, where the card has a kernel for it; of latents and states a version's refusal decides."""
        gpu = case.first.node.gpus[0] if case.first.node.gpus else None
        if gpu is None or gpu.vendor == "AMD":
            return ("fp8",) if gpu is not None and gpu.gfx in _FP8_GFX else ()
        return ("fp8",) if gpu.compute_capability is not None and gpu.compute_capability >= _ADA else ()

    def left_out(self, found: Estimate) -> tuple[int | None, int | None]:
        """vLLM moves nothing by itself."""
        return None, None


_AWQ = Form("awq", 4.25, on_load=False, how="look for an AWQ checkpoint, or make one with llm-compressor's AWQModifier")
_HOW_GIVEN = "such a checkpoint must exist"
_ON_LOAD = {
    "fp8": Form("fp8", 8, on_load=True),
    "bitsandbytes": Form("bitsandbytes", 4.5, on_load=True),
}
"""Source: vllm 0.33 model_executor/layers/quantization/fp8.py and bitsandbytes.py; the bytes are the engine's own."""


def _makes(name: str, case: Case, gpu: Gpu | None) -> bool:
    """FP8 from Ampere on (Marlin below Ada), nf4 on NVIDIA and for dense models."""
    if gpu is None:
        return False
    if name == "fp8":
        return gpu.gfx in _FP8_GFX if gpu.vendor == "AMD" else (gpu.compute_capability or (0, 0)) >= _AMPERE
    dense = not any(ffn.kind == "moe" for run in case.model.runs for ffn in run.layer.ffns)
    return gpu.vendor == "NVIDIA" and dense and (gpu.compute_capability or (0, 0)) >= _TURING and case.base.tp == 1


def _runs_awq(gpu: Gpu | None) -> bool:
    return gpu is not None and (gpu.vendor == "AMD" or (gpu.compute_capability or (0, 0)) >= _TURING)


DIALECT = VllmDialect()
