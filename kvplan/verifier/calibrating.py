"""What a run on a GPU says of this host's overheads, as ``kvplan estimate --calibration`` reads it."""

from kvplan.core.errors import RequestError, UnavailableError
from kvplan.core.ledger import Interval
from kvplan.estimator import Estimate
from kvplan.estimator.calibration import KEY
from kvplan.verifier.reconcile import beside_the_model, held_back, outside_the_allocator
from kvplan.verifier.record import Record
from kvplan.verifier.run import Tier
from kvplan.verifier.verification import Verification


def check_tier(tier: Tier) -> None:
    """Raises RequestError where a run has no overheads to measure."""
    if tier != "cuda":
        what = "a trace" if tier == "trace" else "a processor"
        raise RequestError(
            "contradiction", f"--save-calibration: {what} has no context and no allocator to measure", hint="run it where the GPU is"
        )


def calibration(found: Verification) -> dict[str, object]:
    """The calibration that the run makes, as JSON values.

    The context grows as kernels load: the least and the most of three moments. The allocator returns what it holds back when
    memory runs out, so that its lower bound is none. Raises UnavailableError for a run that did not end, or whose driver tells
    too little.
    """
    record, estimate = found.record, found.estimate
    assert estimate is not None  # what runs on a GPU was estimated before
    contexts = outside_the_allocator(record)
    workspace, allocator = beside_the_model(record), held_back(record)
    transient = next((int(entry.inputs["transient"]) for entry in estimate.entries if entry.term == "allocator"), 0)
    if record.outcome != "ran" or not contexts or workspace is None or allocator is None or not transient:
        why = "the run ran out of memory" if record.outcome == "oom" else "the driver does not tell what this process holds"
        raise UnavailableError("no_calibration", f"no calibration was saved: {why}", hint="a smaller --ctx or --batch, or another driver")
    terms = {
        "runtime_context": _sizes(Interval(min(contexts), max(contexts), max(contexts))),
        "workspace": _sizes(Interval(workspace, workspace, workspace)),
        "allocator": _sizes(Interval(0, allocator, allocator)),
    }
    return {KEY: {**_where(record, estimate), "terms": terms, "transient_bytes": transient}}


def _where(record: Record, estimate: Estimate) -> dict[str, object]:
    """The host and the run that the sizes are of."""
    return {
        "engine": estimate.engine,
        "gpu_id": estimate.node.gpus[0].id,
        "gpu_name": record.device.name,
        "driver": record.versions.get("driver"),
        "cuda": record.versions.get("cuda"),
        "torch": record.versions["torch"],
        "transformers": record.versions["transformers"],
        "taken_at": record.taken_at,
        "model": record.job.id,
        "workload": estimate.workload._asdict(),
    }


def _sizes(size: Interval) -> dict[str, int]:
    return {f"{bound}_bytes": value for bound, value in size._asdict().items()}
