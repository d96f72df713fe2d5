"""A sizing report as JSON: everything that its page shows."""

from collections.abc import Mapping

from kvplan.render import json_, sweep
from kvplan.render.envelope import enveloped
from kvplan.reporter import Report, Result, Rung, Subject


def as_json(found: Report) -> dict[str, object]:
    """The JSON object of ``kvplan report``; answers of other commands are in it as they were read."""
    return enveloped(
        {
            "report": {
                "command": list(found.command),
                "inputs": [{"file": one.file, "kind": one.kind, "sha256": one.sha256} for one in found.results],
            },
            "subjects": [*map(_subject, found.subjects), *(subject for one in found.results for subject in _subjects(one))],
            "results": [other for one in found.results for other in _others(one)],
        }
    )


def _subject(one: Subject) -> dict[str, object]:
    return {
        "label": one.label,
        "estimate": json_.estimate(one.found),
        "grid": None if one.grid is None else sweep.as_json(one.grid.axes, one.grid.points),
        "lines": [{"label": line.label, **sweep.as_json(line.found.axes, line.found.points)} for line in one.lines],
        "ladder": [_rung(rung) for rung in one.ladder],
    }


def _rung(rung: Rung) -> dict[str, object]:
    needed = rung.needed
    return {
        "concurrency": rung.concurrency,
        "needed_bytes": needed.best,
        "needed_low_bytes": needed.low,
        "needed_high_bytes": needed.high,
        "verdict": rung.verdict,
        "performance": json_.performance(rung.performance),
    }


def _subjects(one: Result) -> list[object]:
    """The estimates in a result, each without what stands around it."""
    answer = _answer(one)
    if one.kind == "report":
        return _listed(answer["subjects"])
    if one.kind == "compare":
        return [_bare(side, side.get("label")) for side in _listed(answer["sides"]) if isinstance(side, dict)]
    return [_bare(answer, None)] if one.kind == "estimate" else []


def _answer(one: Result) -> Mapping[str, object]:
    if isinstance(one.answer, Mapping):
        return one.answer
    from kvplan.render import verification

    return verification.as_json(one.answer)


def _bare(estimate: object, label: object) -> dict[str, object]:
    return {"label": label, "estimate": estimate, "grid": None, "lines": [], "ladder": []}


def _others(one: Result) -> list[object]:
    if one.kind == "report":
        return _listed(_answer(one).get("results"))
    return [] if one.kind in ("estimate", "compare") else [{"file": one.file, "kind": one.kind, "answer": _answer(one)}]


def _listed(found: object) -> list[object]:
    return found if isinstance(found, list) else []
