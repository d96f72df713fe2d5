"""A recommendation as text: each proposal with its command, what it gives and why it is not more; then the ladder."""

from collections.abc import Iterable, Iterator

from kvplan.core.units import format_count, format_size
from kvplan.estimator import Estimate
from kvplan.recommender import Proposal, Recommendation, Rung
from kvplan.recommender.case import Case
from kvplan.recommender.plan import AUTO, STORED, Plan
from kvplan.recommender.result import Elsewhere
from kvplan.render.shell import line
from kvplan.render.speed import short
from kvplan.render.table import aligned


def text(found: Recommendation) -> str:
    """The whole answer, ending in a newline."""
    blocks = [_heading(found)]
    for n, proposal in enumerate(found.proposals, 1):
        on = f"{node_name(proposal.found)}: " if found.anywhere else ""
        blocks.append("\n".join(_proposal(found.case, f"{n}. {on}", proposal)))
    if found.proposals:
        blocks.append("\n".join(_advice(found.proposals[0])))
        blocks.append("\n".join(_ladder(found)))
    else:
        blocks.append("\n".join(_nothing(found)))
    return "\n\n".join(block for block in blocks if block) + "\n"


def _heading(found: Recommendation) -> str:
    case, first = found.case, found.case.first
    where = "the smallest nodes that serve it" if found.anywhere else node_name(first)
    goal = f"goal {case.goal}" if case.goal else "no goal said"
    assumed = "" if case.ctx_said or case.pasted else " (no --ctx was said)"
    engine = "" if found.anywhere else f" · {first.engine} {first.version}: {found.why_engine}"
    return f"{case.model.id} on {where}{engine}\n{goal} · at least {max(case.least_ctx, 1):,} tokens × {case.least_sequences:,}{assumed}"


def node_name(found: Estimate) -> str:
    """The node of an estimate as people say it."""
    n_gpus = len(found.node.gpus)
    if not n_gpus:
        return "the processor alone"
    return found.node.id or "this budget" if n_gpus == 1 or "+" in (found.node.id or "") else f"{n_gpus} × {found.node.id}"


def _on_host(proposal: Proposal) -> str:
    """What the host holds, where layers were moved there."""
    host = next((place for place in proposal.full.places if place.place.id == "host"), None)
    moved = host is not None and any(finding.rule == "KV431" for finding in proposal.findings)
    return f"; {format_size(host.needed.best)} of the host's memory" if host is not None and moved else ""


def _proposal(case: Case, head: str, proposal: Proposal) -> Iterator[str]:
    yield f"{head}{sizes(case, proposal.plan)}"
    yield f"   {line(proposal.command)}"
    if proposal.form.needs_checkpoint:
        yield f"   not ready to run: {proposal.form.how}"
    held = format_size(proposal.full.needed.best)
    yield f"   fits: {held} needed, {format_size(proposal.headroom_bytes)} left beyond the upper bound{_on_host(proposal)}"
    for printed in proposal.found.predicted_log if proposal.found.engine == "vllm" else ():
        yield f"   prints: {printed}"
    speed = proposal.full.performance
    if speed is not None:
        per_s, first = speed.decode_tokens_per_s, speed.ttft_s
        wait = f"{short(first.low)} – {short(first.high)} s"
        yield f"   {short(per_s.low)} – {short(per_s.high)} tokens/s in all; a prompt of {speed.of.demand.prompt_tokens:,} waits {wait}"
    if proposal.cost is not None:
        yield f"   {proposal.cost:.2f} for a million tokens"
    if proposal.risk.weight:
        yield f"   quality: {proposal.risk.text} ({proposal.risk.source})"
    yield f"   why not more: {proposal.why}"
    if case.pasted:
        yield from (f"   {fix.flag}: {fix.before} → {fix.after}{_effect(fix.effect_bytes)}" for fix in proposal.changes)
        if not proposal.changes:
            yield "   as it is: nothing to change"


def sizes(case: Case, plan: Plan) -> str:
    """What a plan is, in a line."""
    weights = "weights as stored" if plan.weights == STORED else f"{plan.weights} weights"
    cache = "16-bit cache" if plan.cache == AUTO else f"{plan.cache} cache"
    parts = [f"{name} {ways}" for name, ways in (("tp", plan.tp), ("pp", plan.pp), ("dp", plan.dp)) if ways > 1]
    spread = f", {' · '.join(parts)}" if parts else ""
    sure = case.promised(plan)
    at_most = "" if sure == plan.sequences else f" (up to {plan.sequences:,} at once)"
    return f"{weights}, {cache}, {plan.ctx_tokens:,} tokens × {sure:,}{at_most}{spread}"


def _effect(n_bytes: int | None) -> str:
    if not n_bytes:
        return ""
    return f"  ({'+' if n_bytes > 0 else '−'}{format_size(abs(n_bytes))})"


def _advice(proposal: Proposal) -> Iterator[str]:
    for finding in proposal.findings:
        yield f"{finding.level}[{finding.rule}]: {finding.message}"
        if finding.hint:
            yield f"  hint: {finding.hint}"


def _elsewhere(node: Elsewhere) -> str:
    cards = node.gpu if node.n_devices == 1 else f"{node.n_devices} × {node.gpu}"
    return f"{cards} ({node.weights} weights)" if node.weights else cards


def _ladder(found: Recommendation) -> Iterable[str]:
    if len(found.ladder) < 2:
        return ()
    speeds = any(rung.decode_tokens_per_s is not None for rung in found.ladder)
    head = ("at once", "needed", *(("tokens/s",) if speeds else ()), "")
    rows = [(str(rung.concurrency), format_size(rung.needed_bytes), *_speed(rung, shown=speeds), rung.verdict) for rung in found.ladder]
    return (f"one more at a time, with proposal 1 at {found.proposals[0].plan.ctx_tokens:,} tokens each", *aligned([head, *rows]))


def _speed(rung: Rung, *, shown: bool) -> tuple[str, ...]:
    if not shown:
        return ()
    return ("" if rung.decode_tokens_per_s is None else f"{rung.decode_tokens_per_s:,.0f}",)


def _nothing(found: Recommendation) -> Iterator[str]:
    yield "nothing fits for certain"
    if found.nearest is not None:
        yield f"nearest miss: {line(found.nearest.command)}"
        yield f"  {found.nearest.why}"
    if found.elsewhere:
        yield f"smallest that would do: {' · '.join(map(_elsewhere, found.elsewhere))}"
    else:
        yield f"nothing in the catalogue would do at {format_count(found.case.least_ctx)} tokens"
