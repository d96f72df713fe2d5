"""How the knobs are called in from_pretrained() and generate(), and how bitsandbytes quantizes while it loads."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType

from kvplan.core.dtypes import PLAIN
from kvplan.core.model import ModelSpec
from kvplan.estimator import Estimate
from kvplan.recommender.case import Case, Spelling
from kvplan.recommender.plan import AUTO, STORED, Form, Plan

NAMES = ("transformers",)
_BITSANDBYTES_FROM = (7, 5)  # compute capability; source: bitsandbytes docs, installation


class TransformersDialect:
    """Keyword arguments; contexts and batches are what generate() is called with, and stand in no setting."""

    engine = NAMES[0]
    reserves = False
    most_sequences = 64
    spellings: Mapping[str, tuple[Spelling, ...]] = MappingProxyType(
        {
            "ctx_tokens": (),
            "sequences": (),
            "weights": (Spelling("quantization_config", (), "parameter"),),
            "cache": (Spelling("kv_dtype", (), "parameter"),),
            "attention": (Spelling("attn_implementation", (), "parameter"),),
            "segments": (Spelling("expandable_segments", (), "parameter"),),
        }
    )

    def placed(self, plan: Plan, model: ModelSpec) -> Plan:
        """Everything is on the card."""
        return plan

    def plain(self, model: str, *, n_cards: int) -> tuple[str, ...]:
        """The model with every default."""
        return ("transformers", model)

    def read(self, found: Estimate, form: str | None) -> Plan:
        """The workload is the plan's size."""
        kept = str(found.settings["kv_dtype"])
        return Plan(
            ctx_tokens=found.workload.ctx_tokens,
            sequences=found.workload.batch,
            weights=form or STORED,
            cache=AUTO if kept in PLAIN else kept,
            attention=str(found.settings["attn"]),
            segments=str(found.settings["segments"]),
        )

    def said(self, knob: str, plan: Plan) -> str:
        """Weights that are quantized while they load stand behind the model's name."""
        if knob == "segments":
            return str(plan.segments == "expandable")
        return str(getattr(plan, knob)) if knob in ("cache", "attention") else ""

    def forms(self, case: Case) -> Sequence[Form]:
        """As stored; of what is not quantized 8 and 4 bits, made while loading."""
        if case.form is not None:
            return (Form(case.form, case.stored_bits, on_load=False, how="such a checkpoint must exist"),)
        stored = Form(STORED, case.stored_bits)
        gpu = case.first.node.gpus[0] if case.first.node.gpus else None
        runs = gpu is not None and (gpu.vendor == "AMD" or (gpu.compute_capability or (0, 0)) >= _BITSANDBYTES_FROM)
        return (stored, *(_BITSANDBYTES if runs and case.model.quantization is None else ()))

    def caches(self, case: Case) -> Sequence[str]:
        """A quantized cache in 8 bits."""
        return ("int8",)

    def left_out(self, found: Estimate) -> tuple[int | None, int | None]:
        """Nothing moves by itself."""
        return None, None


_BITSANDBYTES = (
    Form("bnb_8bit", 8, on_load=True, how="pass quantization_config=BitsAndBytesConfig(load_in_8bit=True)", named=True),
    Form(
        "nf4",
        4.5,
        on_load=True,
        how='pass quantization_config=BitsAndBytesConfig(load_in_4bit=True, bnb_4bit_quant_type="nf4")',
        named=True,
    ),
)
"""Source: transformers 5.24 utils/quantization_config.py, BitsAndBytesConfig; the bytes are the engine's own."""

DIALECT = TransformersDialect()
