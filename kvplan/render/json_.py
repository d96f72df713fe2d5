"""An Estimate as the JSON object of the contract: every key present, null where it does not apply."""

import json
from collections.abc import Mapping

from kvplan import __version__
from kvplan.core.ledger import Interval
from kvplan.estimator import Estimate, PlaceTotal

SCHEMA_VERSION = 1

Json = Mapping[str, object]


def dumps(answer: Json) -> str:
    """One JSON document."""
    return json.dumps(answer, ensure_ascii=False)


def estimate(answer: Estimate) -> dict[str, object]:
    """The whole answer."""
    model, fullest, load = answer.model, answer.fullest, answer.workload
    usable = fullest.place.usable_bytes
    return {
        "schema_version": SCHEMA_VERSION,
        "kvplan": __version__,
        "model": {
            "id": model.id,
            "source": model.source,
            "revision": model.revision,
            "as_of": model.as_of,
            "architecture": model.architecture,
            "n_params": model.n_params,
            "n_active_params": model.n_active_params,
            "n_layers": model.n_layers,
            "max_ctx_tokens": model.max_ctx_tokens,
            "stored_dtype": model.stored_dtype,
        },
        "engine": {
            "name": answer.engine,
            "version": answer.version,
            "settings": dict(answer.settings),
            "ignored": [flag.name for flag in answer.ignored],
            "command": list(answer.command),
        },
        "workload": load._asdict(),
        "device": {"id": answer.node.id, "source": answer.node.source, "n_devices": len(answer.node.gpus)},
        "places": [_place(place) for place in answer.places],
        "entries": [
            {
                "term": entry.term,
                "name": entry.name,
                "place": entry.place,
                "device": entry.device,
                **_sizes("", entry.size),
                "basis": entry.basis,
                "formula": entry.formula.format_map(entry.inputs),
                "source": entry.source,
            }
            for entry in answer.entries
        ],
        **_sizes("total_", fullest.total),
        **_sizes("needed_", fullest.needed),
        "headroom_bytes": None if usable is None else usable - fullest.needed.best,
        "phases": {**answer.phases._asdict(), "peak": answer.phases.peak},
        "kv": {**answer.kv._asdict(), "groups": [group._asdict() for group in answer.kv.groups]},
        "capacity": None,
        "performance": None,
        "refusals": [refusal._asdict() for refusal in answer.refusals],
        "verdict": answer.verdict,
        "fits_on": [],
        "predicted_log": list(answer.predicted_log),
        "not_modeled": [item._asdict() for item in answer.not_modeled],
        "findings": [
            {
                "rule": finding.rule,
                "level": finding.level,
                "message": finding.message,
                "hint": finding.hint,
                "fixes": [{"flag": f.flag, "from": f.before, "to": f.after, "effect_bytes": f.effect_bytes} for f in finding.fixes],
            }
            for finding in answer.findings
        ],
    }


def _sizes(prefix: str, size: Interval) -> dict[str, int]:
    return {f"{prefix}bytes": size.best, f"{prefix}low_bytes": size.low, f"{prefix}high_bytes": size.high}


def _place(total: PlaceTotal) -> dict[str, object]:
    return {
        "id": total.place.id,
        "capacity_bytes": total.place.capacity_bytes,
        "usable_bytes": total.place.usable_bytes,
        "total_bytes": total.total.best,
        **_sizes("needed_", total.needed),
        "verdict": total.verdict,
    }
