"""How the knobs are called in ``llama-server``, and the file types that people make GGUFs in."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType

from kvplan.core.model import ModelSpec
from kvplan.estimator import Estimate
from kvplan.recommender.case import Case, Spelling
from kvplan.recommender.plan import AUTO, STORED, Form, Plan

NAMES = ("llama.cpp",)


class LlamaCppDialect:
    """Flags of llama.cpp's server; the context is all slots' together."""

    engine = NAMES[0]
    reserves = True
    most_sequences = 32
    spellings: Mapping[str, tuple[Spelling, ...]] = MappingProxyType(
        {
            "ctx_tokens": (Spelling("-c", ("--ctx-size",)),),
            "sequences": (Spelling("-np", ("--parallel",)),),
            "weights": (Spelling("-m", ("--model",)),),
            "cache": (Spelling("-ctk", ("--cache-type-k",)), Spelling("-ctv", ("--cache-type-v",))),
            "step_tokens": (Spelling("-ub", ("--ubatch-size",)),),
            "gpu_layers": (Spelling("-ngl", ("--gpu-layers", "--n-gpu-layers")),),
            "cpu_moe": (Spelling("--n-cpu-moe", ("-ncmoe",)),),
            "saved_prompts_mib": (Spelling("--cache-ram", ("-cram",)),),
        }
    )

    def placed(self, plan: Plan, model: ModelSpec) -> Plan:
        """All layers and the output: ``--fit`` would rather move some than leave less than a GiB free."""
        return plan._replace(gpu_layers=model.n_layers + 1)

    def plain(self, model: str, *, n_cards: int) -> tuple[str, ...]:
        """Its server with a context of its own choice; with ``-ngl`` said, ``--fit`` has nothing to look for."""
        return ("llama-server", "-m", model, "-c", "4096", *(("-ngl", "all") if n_cards else ()))

    def read(self, found: Estimate, form: str | None) -> Plan:
        """llama.cpp's settings; of slots that share a cache one may hold all of it."""
        shown = found.settings
        layers = shown.get("n_gpu_layers") if "-ngl" in found.command else None
        experts = shown.get("n_cpu_moe") if "--n-cpu-moe" in found.command else None
        return Plan(
            ctx_tokens=int(shown["n_ctx_seq"] or 0),
            sequences=1 if shown["kv_unified"] else int(shown["n_parallel"] or 1),
            weights=form or STORED,
            cache=AUTO if shown["type_k"] == "f16" else str(shown["type_k"]),
            step_tokens=int(shown["n_ubatch"] or 0),
            gpu_layers=int(layers) if isinstance(layers, int) and layers >= 0 else None,
            cpu_moe=int(experts) if isinstance(experts, int) and experts else None,
            saved_prompts_mib=int(shown["cache_ram_mib"] or 0),
        )

    def said(self, knob: str, plan: Plan) -> str:
        """``-c`` holds every slot's tokens; the file says its own type."""
        if knob == "weights":
            return ""
        if knob == "ctx_tokens":
            return str(plan.ctx_tokens * plan.sequences)
        value = getattr(plan, knob)
        if knob == "cache":
            return "f16" if value == AUTO else str(value)
        return "" if value is None else str(value)

    def forms(self, case: Case) -> Sequence[Form]:
        """A GGUF as it lies; else the types that quantizers publish, from 16 bits down."""
        if case.form is not None:
            return (Form(case.form, case.stored_bits, on_load=False, how=_how(case.form)),)
        if case.model.checkpoint is not None and case.model.checkpoint.format == "gguf":
            return (Form(STORED, case.stored_bits, on_load=False),)
        if case.model.quantization == _MXFP4.name.partition("_")[0]:
            return (_MXFP4,)
        most = case.stored_bits + 1
        return tuple(Form(name, bits, on_load=False, how=_how(name)) for name, bits in _TYPES.items() if bits <= most)

    def caches(self, case: Case) -> Sequence[str]:
        """Blocks of 8 bits, for K and V alike."""
        return ("q8_0",)

    def left_out(self, found: Estimate) -> tuple[int | None, int | None]:
        """What ``--fit`` resolved to: layers left on accelerators, and layers whose experts went to the host."""
        layers, experts = found.settings.get("n_gpu_layers"), found.settings.get("n_cpu_moe")
        some = int(layers) if isinstance(layers, int) and 0 <= layers <= found.model.n_layers else None
        return some, int(experts) if isinstance(experts, int) and experts else None


_TYPES = {"bf16": 16.0, "q8_0": 8.5, "q6_k": 6.56, "q5_k_m": 5.7, "q4_k_m": 4.85, "q3_k_m": 3.9}
"""Bits a parameter. Source: llama.cpp tools/quantize/README.md, bits per weight of Llama 3.1 8B; the bytes are counted tensor by tensor."""

_MXFP4 = Form("mxfp4_moe", 4.25, how="its publisher's GGUF keeps the experts as they were trained")
"""What is quantized already is not made smaller by any other type. Source: llama.cpp b11434 tools/quantize, MXFP4_MOE."""


def _how(name: str) -> str:
    return f"make the GGUF with `llama-quantize MODEL.gguf {name.upper()}`, or look for one of that type"


DIALECT = LlamaCppDialect()
