"""A recommendation as the JSON object of the contract."""

from kvplan.recommender import Proposal, Recommendation
from kvplan.recommender.case import Case
from kvplan.recommender.plan import Plan
from kvplan.render import json_
from kvplan.render.envelope import enveloped


def as_json(found: Recommendation) -> dict[str, object]:
    """The whole answer; each proposal holds what its own estimate says of it."""
    case = found.case
    return enveloped(
        {
            "model": case.model.id,
            "goal": case.goal,
            "engine": {"name": case.first.engine, "version": case.first.version, "why": found.why_engine},
            "device": {"id": case.first.node.id, "n_devices": len(case.first.node.gpus)},
            "asked": {"ctx_tokens": case.least_ctx, "concurrency": case.least_sequences, "keep": sorted(case.keep)},
            "proposals": [_proposal(case, proposal) for proposal in found.proposals],
            "rejected": [{"settings": plan_json(one.plan), "command": list(one.command), "why": one.why} for one in found.rejected],
            "ladder": [rung._asdict() for rung in found.ladder],
            "fits_on": [candidate._asdict() for candidate in found.elsewhere],
        }
    )


def plan_json(plan: Plan) -> dict[str, object]:
    """The knobs of a plan."""
    return plan._asdict()


def _proposal(case: Case, proposal: Proposal) -> dict[str, object]:
    answer = json_.estimate(proposal.found)
    full = json_.estimate(proposal.full)
    return {
        "command": list(proposal.command),
        "engine": proposal.found.engine,
        "version": proposal.found.version,
        "device": answer["device"],
        "plan": plan_json(proposal.plan),
        "settings": dict(proposal.found.settings),
        "verdict": proposal.found.verdict,
        "needed_bytes": proposal.full.needed.best,
        "needed_high_bytes": proposal.full.needed.high,
        "headroom_bytes": proposal.full.headroom_bytes,
        "capacity": full["capacity"],
        "performance": full["performance"],
        "quality_risk": {"level": proposal.risk.level, "text": proposal.risk.text, "source": proposal.risk.source},
        "needs_checkpoint": proposal.form.needs_checkpoint,
        "checkpoint": {"form": proposal.form.name, "bits": proposal.form.bits, "how": proposal.form.how},
        "changed_flags": [json_.fix(fix) for fix in proposal.changes],
        "predicted_log": list(proposal.found.predicted_log),
        "findings": [json_.finding(finding) for finding in proposal.findings],
        "why": proposal.why,
        "cost_per_million_tokens": proposal.cost,
        "estimate": list(proposal.checked_by),
    }
