"""GGUF files: the types that people make them in, and what llama.cpp moves off the cards by itself."""

from collections.abc import Sequence

from kvplan.estimator import Estimate
from kvplan.recommender.case import Case
from kvplan.recommender.plan import AUTO, STORED, Form, Plan


class Ggufs:
    """What dialects of servers of GGUF files have in common."""

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


def plan(found: Estimate, form: str | None, flags: tuple[str, str], slots: tuple[int, int]) -> Plan:
    """llama.cpp's settings as a plan. ``flags`` are those of layers and of experts, ``slots`` are tokens of a sequence and sequences."""
    shown = found.settings
    layers, experts = _said_places(found, *flags)
    return Plan(
        *slots,
        weights=form or STORED,
        cache=AUTO if shown["type_k"] == "f16" else str(shown["type_k"]),
        step_tokens=int(shown["n_ubatch"] or 0),
        gpu_layers=layers,
        cpu_moe=experts,
        saved_prompts_mib=int(shown["cache_ram_mib"] or 0),
    )


def _said_places(found: Estimate, layers_flag: str, experts_flag: str) -> tuple[int | None, int | None]:
    """Layers on accelerators and layers whose experts are not, where the command says so by these flags."""
    named = {word.partition("=")[0] for word in found.command}
    layers = found.settings.get("n_gpu_layers") if layers_flag in named else None
    experts = found.settings.get("n_cpu_moe") if experts_flag in named else None
    return (
        int(layers) if isinstance(layers, int) and layers >= 0 else None,
        int(experts) if isinstance(experts, int) and experts else None,
    )


_TYPES = {"bf16": 16.0, "q8_0": 8.5, "q6_k": 6.56, "q5_k_m": 5.7, "q4_k_m": 4.85, "q3_k_m": 3.9}
"""Bits a parameter. Source: llama.cpp tools/quantize/README.md, bits per weight of Llama 3.1 8B; the bytes are counted tensor by tensor."""

_MXFP4 = Form("mxfp4_moe", 4.25, how="its publisher's GGUF keeps the experts as they were trained")
"""What is quantized already is not made smaller by any other type. Source: llama.cpp b11434 tools/quantize, MXFP4_MOE."""


def _how(name: str) -> str:
    return f"make the GGUF with `llama-quantize MODEL.gguf {name.upper()}`, or look for one of that type"
