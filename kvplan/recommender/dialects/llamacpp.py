"""How the knobs are called in ``llama-server``."""

from collections.abc import Mapping
from types import MappingProxyType

from kvplan.core.model import ModelSpec
from kvplan.estimator import Estimate
from kvplan.recommender import ggufs
from kvplan.recommender.case import Spelling
from kvplan.recommender.plan import AUTO, Plan

NAMES = ("llama.cpp",)


class LlamaCppDialect(ggufs.Ggufs):
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
        n = 1 if found.settings["kv_unified"] else int(found.settings["n_parallel"] or 1)
        return ggufs.plan(found, form, ("-ngl", "--n-cpu-moe"), (int(found.settings["n_ctx_seq"] or 0), n))

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


DIALECT = LlamaCppDialect()
