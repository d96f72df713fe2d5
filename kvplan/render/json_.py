"""An Estimate as the JSON object of the contract: every key present, null where it does not apply."""

from typing import TYPE_CHECKING

from kvplan.core.engine import Capacity
from kvplan.core.ledger import Entry, Finding, Fix, Interval
from kvplan.estimator.answer import Estimate, PlaceTotal
from kvplan.render.envelope import enveloped
from kvplan.render.formula import substituted

if TYPE_CHECKING:
    from kvplan.perf import Performance


def estimate(answer: Estimate) -> dict[str, object]:
    """The whole answer."""
    fullest = answer.fullest
    return enveloped(
        {
            "model": _model(answer),
            "engine": _engine(answer),
            "workload": answer.workload._asdict(),
            "device": {"id": answer.node.id, "source": answer.node.source, "n_devices": len(answer.node.gpus)},
            "places": [_place(place) for place in answer.places],
            "entries": [_entry(entry) for entry in answer.entries],
            **_sizes("total_", fullest.total),
            **_sizes("needed_", fullest.needed),
            "headroom_bytes": answer.headroom_bytes,
            "phases": {**answer.phases._asdict(), "peak": answer.phases.peak},
            "kv": {**answer.kv._asdict(), "groups": [group._asdict() for group in answer.kv.groups]},
            "capacity": None if answer.capacity is None else _capacity(answer.capacity),
            "performance": performance(answer.performance),
            "refusals": [refusal._asdict() for refusal in answer.refusals],
            "verdict": answer.verdict,
            "fits_on": [candidate._asdict() for candidate in answer.fits_on],
            "predicted_log": list(answer.predicted_log),
            "not_modeled": [item._asdict() for item in answer.not_modeled],
            "findings": [finding(found) for found in answer.findings],
        }
    )


def _model(answer: Estimate) -> dict[str, object]:
    model = answer.model
    return {
        "id": model.id,
        "source": model.source,
        "revision": model.revision,
        "as_of": model.as_of,
        "architecture": model.architecture,
        "n_params": answer.size.n_params,
        "n_active_params": answer.size.n_active_params,
        "n_layers": model.n_layers,
        "max_ctx_tokens": model.max_ctx_tokens,
        "stored_dtype": model.stored_dtype,
        "quantization": model.quantization,
    }


def _engine(answer: Estimate) -> dict[str, object]:
    return {
        "name": answer.engine,
        "version": answer.version,
        "settings": dict(answer.settings),
        "ignored": [flag.name for flag in answer.ignored],
        "command": list(answer.command),
    }


def _entry(entry: Entry) -> dict[str, object]:
    return {
        "term": entry.term,
        "name": entry.name,
        "place": entry.place,
        "device": entry.device,
        **_sizes("", entry.size),
        "basis": entry.basis,
        "formula": substituted(entry),
        "source": entry.source,
    }


def finding(found: Finding) -> dict[str, object]:
    """A finding with its ways out."""
    return {
        "rule": found.rule,
        "level": found.level,
        "message": found.message,
        "hint": found.hint,
        "fixes": [fix(one) for one in found.fixes],
    }


def fix(found: Fix) -> dict[str, object]:
    """A flag to change, in the words of every answer's JSON."""
    return {"flag": found.flag, "from": found.before, "to": found.after, "effect_bytes": found.effect_bytes}


def _capacity(capacity: Capacity) -> dict[str, object]:
    budget, tokens, concurrency = capacity.kv_budget, capacity.kv_tokens, capacity.max_concurrency
    return {
        "kv_budget_bytes": budget and budget.best,
        "kv_budget_low_bytes": budget and budget.low,
        "kv_budget_high_bytes": budget and budget.high,
        "block_tokens": capacity.block_tokens,
        "bytes_per_block": capacity.bytes_per_block,
        "n_blocks": capacity.n_blocks,
        "kv_tokens": tokens and tokens.best,
        "kv_tokens_low": tokens and tokens.low,
        "kv_tokens_high": tokens and tokens.high,
        "max_concurrency": concurrency and concurrency[1],
        "max_concurrency_low": concurrency and concurrency[0],
        "max_concurrency_high": concurrency and concurrency[2],
        "max_ctx_tokens": capacity.max_ctx_tokens,
        "max_batch": capacity.max_batch,
    }


def performance(found: "Performance | None") -> dict[str, object] | None:
    """The key ``performance``: four ranges, null where the speed is not known."""
    if found is None:
        return None
    return {name: getattr(found, name)._asdict() for name in ("ttft_s", "tpot_s", "decode_tokens_per_s", "requests_per_s")}


def _sizes(prefix: str, size: Interval) -> dict[str, int]:
    return {f"{prefix}bytes": size.best, f"{prefix}low_bytes": size.low, f"{prefix}high_bytes": size.high}


def _place(total: PlaceTotal) -> dict[str, object]:
    return {
        "id": total.place.id,
        "capacity_bytes": total.place.capacity_bytes,
        "usable_bytes": total.usable_bytes,
        "total_bytes": total.total.best,
        **_sizes("needed_", total.needed),
        "verdict": total.verdict,
    }
