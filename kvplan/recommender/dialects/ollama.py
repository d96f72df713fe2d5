"""How the knobs are called by Ollama: variables of its server, and the parameters of a Modelfile."""

from collections.abc import Mapping
from types import MappingProxyType

from kvplan.core.model import ModelSpec
from kvplan.estimator import Estimate
from kvplan.recommender import ggufs
from kvplan.recommender.case import Spelling
from kvplan.recommender.plan import AUTO, Plan

NAMES = ("ollama",)


class OllamaDialect(ggufs.Ggufs):
    """Ollama places layers itself; a number of its own is said only where some must stay behind."""

    engine = NAMES[0]
    reserves = True
    most_sequences = 16
    spellings: Mapping[str, tuple[Spelling, ...]] = MappingProxyType(
        {
            "ctx_tokens": (Spelling("OLLAMA_CONTEXT_LENGTH", ("num_ctx",), "variable"),),
            "sequences": (Spelling("OLLAMA_NUM_PARALLEL", (), "variable"),),
            "weights": (Spelling("FROM", (), "parameter"),),
            "cache": (Spelling("OLLAMA_KV_CACHE_TYPE", (), "variable"),),
            "step_tokens": (Spelling("num_batch", (), "parameter"),),
            "gpu_layers": (Spelling("num_gpu", (), "parameter"),),
            "cpu_moe": (Spelling("LLAMA_ARG_N_CPU_MOE", (), "variable"),),
            "saved_prompts_mib": (Spelling("LLAMA_ARG_CACHE_RAM", (), "variable"),),
        }
    )

    def placed(self, plan: Plan, model: ModelSpec) -> Plan:
        """As it is: plans of which Ollama would move layers off the cards don't count as fitting."""
        return plan

    def plain(self, model: str, *, n_cards: int) -> tuple[str, ...]:
        """One model with a context of its own."""
        return ("OLLAMA_CONTEXT_LENGTH=4096", "ollama", "run", model)

    def read(self, found: Estimate, form: str | None) -> Plan:
        """The settings of the llama-server that it starts; of each slot the context."""
        n = int(found.settings["n_parallel"] or 1)
        return ggufs.plan(found, form, ("num_gpu", "LLAMA_ARG_N_CPU_MOE"), (int(found.settings["n_ctx"] or 0) // n, n))

    def said(self, knob: str, plan: Plan) -> str:
        """The model's name says the type of its weights."""
        value = getattr(plan, knob)
        if knob == "cache":
            return "" if value == AUTO else str(value)
        return "" if knob == "weights" or value is None else str(value)


DIALECT = OllamaDialect()
