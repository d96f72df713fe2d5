"""What ``--explain`` adds: each formula with its numbers, the cache's plan, the peaks, what it saves, where time goes, the model."""

from kvplan.core.ledger import Entry
from kvplan.estimator.answer import Estimate
from kvplan.render import shares
from kvplan.render.formula import substituted


def blocks(answer: Estimate) -> list[str]:
    """Paragraphs, empty ones where there is nothing to say."""
    entries = [_entry(entry) for entry in answer.entries if entry.size.high]
    return [*entries, _cache_plan(answer), _phases(answer), _reuse(answer), _speed(answer), _not_counted(answer), _model_facts(answer)]


def _speed(answer: Estimate) -> str:
    if answer.performance is None:
        return ""
    from kvplan.render import speed

    return speed.explanation(answer.performance)


def _reuse(answer: Estimate) -> str:
    from kvplan.render import reuse

    return reuse.explanation(answer)


def _phases(answer: Estimate) -> str:
    """Live tensor bytes in each phase."""
    named = (
        ("load", answer.phases.load_peak_bytes),
        ("prefill", answer.phases.prefill_peak_bytes),
        ("decode", answer.phases.decode_peak_bytes),
    )
    rows = [f"  {name}: {size:,} B" for name, size in named if size is not None]
    return "\n".join(["peaks of live tensors", *rows])


def _not_counted(answer: Estimate) -> str:
    """What is known of and stands in no line above."""
    rows = [f"  {item.message}" for item in answer.not_modeled]
    return "\n".join(["not counted", *rows]) if rows else ""


def _entry(entry: Entry) -> str:
    """One entry: its formula with numbers, its bounds, its source."""
    size = entry.size
    bytes_ = f"= {size.best:,} B" if size.low == size.high else f"≈ {size.best:,} B ({size.low:,} – {size.high:,})"
    return f"{entry.name} ({entry.basis})\n  {substituted(entry)}\n  {bytes_}\n  source: {entry.source}"


def _cache_plan(answer: Estimate) -> str:
    """Which layers keep what."""
    kv = answer.kv
    lines = ["cache plan"]
    for group in kv.groups:
        window = f", window {group.window_tokens:,}" if group.window_tokens else ""
        lines.append(f"  {group.n_layers} {group.kind} layers{window}: {group.bytes_per_token_per_layer:,} B per token and layer")
    if kv.state_bytes_per_sequence:
        lines.append(f"  {kv.state_bytes_per_sequence:,} B of state per sequence, whatever its length")
    lines.append(f"  the mathematics needs {kv.ideal_bytes:,} B, this engine takes {kv.reserved_bytes:,} B")
    lines.append(f"  the next token adds {kv.marginal_bytes_per_token:,} B to each sequence")
    return "\n".join(lines)


def _model_facts(answer: Estimate) -> str:
    model = answer.model
    limit = f"{model.max_ctx_tokens:,} positions" if model.max_ctx_tokens else "no position limit"
    head = f"  {model.architecture}: {model.n_layers} layers, {limit}, stored as {shares.stored_as(model)}"
    return "\n".join(["model", head, *(f"  {line}".rstrip() for line in (*shares.by_role(model), "", *shares.besides(model)))]).rstrip()
