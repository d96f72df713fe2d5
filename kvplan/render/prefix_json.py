"""What a cache of prefixes finds, as JSON."""

from kvplan.perf import Range
from kvplan.prefixes import Prefix
from kvplan.prefixes.answer import Breaks, Told
from kvplan.prefixes.chat import Chat
from kvplan.prefixes.saving import Savings, Times
from kvplan.prefixes.serving import Serving
from kvplan.render.envelope import enveloped
from kvplan.render.json_ import finding


def as_json(found: Prefix) -> dict[str, object]:
    """The whole answer."""
    return enveloped(
        {
            "log": None if found.log is None else found.log._asdict(),
            "engine": _engine(found),
            "n_requests": found.n_requests,
            "n_too_long": found.n_too_long,
            "prompt_tokens": found.prompt_tokens,
            "hit_tokens": found.hit_tokens,
            "computed_tokens": found.prompt_tokens - found.hit_tokens,
            "output_tokens": found.output_tokens,
            "hit_rate": found.hit_rate,
            "hit_rate_low": None if found.hit_range is None else found.hit_range[0],
            "hit_rate_high": None if found.hit_range is None else found.hit_range[1],
            "endless_hit_rate": found.endless_rate,
            "thrash_tokens": found.thrash_tokens,
            "curve": [point._asdict() for point in found.curve],
            "sessions": None if found.warmth is None else found.warmth._asdict(),
            "savings": _savings(found.savings),
            "breaks": None if found.breaks is None else _breaks(found.breaks),
            "chat": None if found.chat is None else _chat(found.chat),
            "findings": [finding(one) for one in found.findings],
        }
    )


def _engine(found: Prefix) -> dict[str, object]:
    serving: Serving = found.serving
    estimate, pool = serving.estimate, found.pool
    return {
        "name": serving.engine,
        "version": serving.version,
        "model": estimate and estimate.model.id,
        "gpu": estimate and estimate.node.id,
        "block_tokens": serving.block_tokens,
        "pool_from": serving.pool_from,
        "pool_tokens": pool and pool.best,
        "pool_tokens_low": pool and pool.low,
        "pool_tokens_high": pool and pool.high,
        "n_groups": serving.n_groups,
        "n_slots": serving.n_slots,
        "command": list(estimate.command) if estimate else [],
    }


def _savings(found: Savings) -> dict[str, object]:
    return {
        "flops": found.flops,
        "saved_flops": found.saved_flops,
        "ttft_without_s": _times(found.without),
        "ttft_s": _times(found.within),
    }


def _times(found: Times | None) -> dict[str, float] | None:
    return None if found is None else {**found.mean._asdict(), "p95": found.p95}


def _breaks(found: Breaks) -> dict[str, object]:
    return {
        "n_requests": found.n_requests,
        "is_whole": found.is_whole,
        "hit_rate": found.hit_rate,
        "mended_hit_rate": found.mended_rate,
        "causes": [_cause(told) for told in found.causes],
    }


def _cause(told: Told) -> dict[str, object]:
    cause, example = told.cause, told.cause.example
    return {
        "kind": cause.kind,
        "n_requests": cause.n_requests,
        "first_at_tokens": cause.first_at,
        "lost_tokens": cause.lost_tokens,
        "share_of_misses": told.share_of_misses,
        "mended_hit_rate": told.mended_rate,
        "example": {
            "line": example.line,
            "other_line": example.other_line,
            "message": example.found.message if example.found.message >= 0 else None,
            "at_tokens": example.at_tokens,
            "text": example.found.mine,
            "other_text": example.found.theirs,
        },
    }


def _chat(found: Chat) -> dict[str, object]:
    return {
        "spec": {**found.spec._asdict(), "edits": [{"turn": turn, "edited_turn": earlier} for turn, earlier in found.spec.edits]},
        "turns": [turn._asdict() for turn in found.turns],
        "conversation": None if found.kept is None else _kept(found),
    }


def _kept(found: Chat) -> dict[str, object]:
    kept = found.kept
    assert kept is not None
    return {
        "n_tokens": kept.n_tokens,
        "kv_bytes": kept.kv_bytes,
        "state_bytes": kept.state_bytes,
        "checkpoints": kept.checkpoints and kept.checkpoints._asdict(),
        "load_s": _range(kept.load_s),
        "compute_s": _range(kept.compute_s),
    }


def _range(found: Range | None) -> dict[str, float] | None:
    return None if found is None else found._asdict()
