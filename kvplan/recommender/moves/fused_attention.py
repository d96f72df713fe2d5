"""Let fused kernels compute attention: eager attention writes the scores of all heads out, which grow with the square of the prompt.

Source: Dao et al. 2022, arXiv:2205.14135; transformers 5.24 integrations/sdpa_attention.py.
"""

from collections.abc import Iterator

from kvplan.core.ledger import Finding
from kvplan.recommender.case import Case
from kvplan.recommender.plan import Plan

ORDER = 12
KNOBS = ("attention",)
LOWERS = "needed"
EASES = True
SOURCE = "Transformers docs, attention_interface"


def plans(plan: Plan, case: Case) -> Iterator[Plan]:
    """SDPA for eager attention, where the model's code has more than that."""
    if plan.attention == "eager" and not case.model.form.eager_only and case.may_turn("attention"):
        yield plan._replace(attention="sdpa")


def said(before: Plan, after: Plan, case: Case) -> Iterator[Finding]:
    """What changes."""
    if before.attention == "eager" != after.attention:
        message = "fused kernels (sdpa) for eager attention: the scores of all heads are written out no more"
        yield Finding("KV437", "note", message, "eager is needed only where somebody reads the attention weights")
