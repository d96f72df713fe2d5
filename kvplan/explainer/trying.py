"""A change, tried in the estimator: it is proposed where it cures, or where no estimate can tell."""

from collections.abc import Mapping

from kvplan.core.ledger import Fix
from kvplan.estimator import Estimate
from kvplan.explainer.case import Case


def tried(case: Case, fix: Fix, changes: Mapping[str, str], *, needs_less: bool = True) -> Fix | None:
    """``fix``, which stands for ``changes`` to the settings, with its effect; None where it would not cure.

    ``needs_less`` asks for less memory than before, by as much as was missing. An effect that the log itself gives is kept.
    """
    if case.unknown:
        return fix._replace(unchecked=case.unknown)
    was, becomes = case.estimate(), case.estimate(changes)
    if was is None or becomes is None or becomes.refusals or becomes.verdict == "does_not_fit":
        return None
    effect = missing(becomes) - missing(was)
    if needs_less and (effect > -(case.shortage or 0) or (case.shortage is None and effect >= 0) or not _has_room(case, becomes)):
        return None
    return fix._replace(effect_bytes=effect if fix.effect_bytes is None else fix.effect_bytes)


def missing(found: Estimate) -> int:
    """Bytes by which the fullest place misses what is needed, negative where some are left."""
    return -(found.headroom_bytes or 0)


def _has_room(case: Case, found: Estimate) -> bool:
    """Whether it fits beside what else lay on the card, where the log prints that of a single card."""
    place = found.fullest
    if len(found.node.gpus) != 1 or place.place.id == "host":
        return True
    own = sum(entry.size.best for entry in found.entries if entry.place == place.place.id and entry.term == "runtime_context")
    if (free := case.size("device free")) is not None and case.engine in ("llama.cpp", "ollama"):
        return place.needed.best - own <= free
    held, left = case.size("process memory"), case.size("free memory")
    return case.engine != "transformers" or held is None or left is None or place.needed.best <= held + left
