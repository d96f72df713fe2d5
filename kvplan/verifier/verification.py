"""A run beside the estimate: a real one, refused before anything is allocated unless it fits, or a trace of one."""

import json
import tempfile
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from kvplan import estimator
from kvplan.core.device import Node
from kvplan.core.errors import UnavailableError
from kvplan.estimator import Estimate, Options
from kvplan.estimator.options import in_words
from kvplan.specs.config import UnknownArchitectureError
from kvplan.verifier import checks, files, observed, unknown, weights
from kvplan.verifier.process import Child, ChildError, measure
from kvplan.verifier.reconcile import reconcile
from kvplan.verifier.record import Job, Record
from kvplan.verifier.run import Run, Tier, parted
from kvplan.verifier.shrink import cut
from kvplan.verifier.term import Term

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager
    from typing import Unpack

    from kvplan.verifier.run import RunKeywords

    Keep = Callable[[list[Job]], tuple[list[Record], tuple[Path, ...]]]

TIMEOUT_S = 900.0  # a choice: longer than anybody waits


class Verification(NamedTuple):
    """What was measured, beside what was estimated. ``saved`` are the files of the records where they were asked for; ``uncached``
    is the run without a cache. There is no estimate of an architecture that kvplan does not know.
    """

    tier: Tier
    estimate: Estimate | None
    record: Record
    terms: tuple[Term, ...]
    saved: tuple[Path, ...]
    uncached: Record | None = None

    @property
    def ok(self) -> bool:
        """Whether the run ended and every term agrees."""
        return self.record.outcome == "ran" and all(term.ok for term in self.terms)


def verify(model: str, *, record_in: Path | None = None, timeout_s: float = TIMEOUT_S, **options: "Unpack[RunKeywords]") -> Verification:
    """Run ``model`` with random weights at its real shapes and reconcile the run with the estimate.

    ``backend`` cuda measures the first attached GPU; cpu measures weights and cache, which hold on any device; trace runs the
    modeling code without hardware, weights or a limit of size, as on the ``gpu`` that is named, and follows its tensors
    (``unseen`` says what they don't show); it also takes architectures that kvplan doesn't know, and then there is no ``estimate``.
    The default is cuda where a GPU is attached, else trace. With ``n_layers`` only the first layers are built, and estimated.
    ``repeats`` passes are timed, after ``warmup`` others: ``record.timings``, None of a trace. ``no_cache`` runs the model a second
    time without a cache: ``uncached``. ``weights`` is the folder of a checkpoint of ``model``, loaded in the place of random
    weights; then the default is cuda where a GPU is attached, else cpu. Records are written into the folder ``record_in``. Other
    options are those of ``kvplan.estimate``. Raises RequestError for what Transformers does not run so; UnavailableError when torch
    or a GPU is missing, the run does not fit in what is free, takes longer than ``timeout_s``, or fails.
    """
    run, asked = parted(options)
    return answer(in_words(model, asked), run, record_in=record_in, timeout_s=timeout_s)


def answer(options: Options, run: Run, *, record_in: Path | None = None, timeout_s: float = TIMEOUT_S) -> Verification:
    """The same for a request in words: ``verify`` says what is done and raised."""
    if record_in:
        files.ready(record_in)
    asked, whole = weights.subject(options, run)
    config = _cut(whole, run.n_layers)
    most, run = run.n_layers, run if config != whole else run._replace(n_layers=None)
    tier = checks.tier(run.backend, loads=run.weights is not None)
    with _early(tier) as child:
        keep = partial(_kept, record_in=record_in, timeout_s=timeout_s, child=child)
        try:
            estimate = _estimate(asked if run.n_layers is None else asked._replace(model=None), config, tier)
        except UnknownArchitectureError:
            if tier != "trace":
                raise
            return _unestimated(asked, config, run, keep)
        checks.check_layers(estimate, most)
        jobs = _jobs(asked._replace(model=options.model or run.weights), config, run, estimate, tier)
        records, saved = keep(jobs)
    return Verification(tier, estimate, records[0], reconcile(estimate, records[0]), saved, *records[1:])


def _jobs(asked: Options, config: dict[str, object], run: Run, estimate: Estimate, tier: Tier) -> list[Job]:
    """What to run: the model, and the same without a cache where that is asked for."""
    job = _job(asked.model or "", config, estimate, tier)
    job = job._replace(id=_named(job.id, run), n_warmup=run.n_warmup, n_repeats=run.n_repeats, weights=run.weights)
    job = _pretending(job, estimate.node) if tier == "trace" else job
    jobs = [job._replace(max_bytes=checks.guard(estimate, tier))]
    return [*jobs, _without_cache(job, asked, config, tier)] if run.uncached else jobs


def _early(tier: Tier) -> "AbstractContextManager[Child | None]":
    """The process of a trace, which takes no memory that an estimate must guard, while that is made; None where there is none yet."""
    return Child(tier) if tier == "trace" and not checks.missing() else nullcontext()


def _unestimated(options: Options, config: dict[str, object], run: Run, keep: "Keep") -> Verification:
    """A trace of an architecture that nobody can estimate."""
    checks.need_torch()
    job = _pretending(unknown.job(_named(Path(options.model or "").name, run), config, options), checks.pretended(options))
    records, saved = keep([job, *([job._replace(use_cache=False)] if run.uncached else [])])
    return Verification("trace", None, records[0], tuple(observed.alone(records[0])), saved, *records[1:])


def _without_cache(job: Job, asked: Options, config: dict[str, object], tier: Tier) -> Job:
    """The same run without a cache, if it fits: its last step needs at most what a prompt of all tokens does."""
    whole = asked._replace(ctx=str(job.ctx_tokens), prompt=str(job.ctx_tokens), model=None)
    return job._replace(use_cache=False, max_bytes=checks.guard(_estimate(whole, config, tier), tier))


def _estimate(options: Options, config: dict[str, object], tier: Tier) -> Estimate:
    """The estimate of what will run: of ``config`` where the options name no model. Nothing is probed for a run that can't be."""
    checks.check_device(options, tier)
    with tempfile.TemporaryDirectory() as folder:
        asked = options if options.model is not None else options._replace(model=_written(config, Path(folder)))
        runnable = estimator.answer(asked._replace(gpu=None, gpus=None))
        plain = checks.plain_dtype(runnable, asked)
        if plain is not None:
            asked = asked._replace(dtype=plain)
            runnable = estimator.answer(asked._replace(gpu=None, gpus=None))
        checks.check_settings(runnable)
        checks.need_torch()
        if tier == "cuda":
            return estimator.answer(asked._replace(gpu="local", gpus="1"))
        return runnable if asked.gpu is None else estimator.answer(asked)


def _kept(jobs: list[Job], *, record_in: Path | None, timeout_s: float, child: Child | None) -> tuple[list[Record], tuple[Path, ...]]:
    """The records of all jobs, each in a file before the next begins where files are asked for; ``child`` may wait for the first."""
    records, saved = [], []
    for job, waiting in zip(jobs, (child, None), strict=False):
        records.append(_measured(waiting.measure if waiting else measure, job, timeout_s))
        saved += [files.write(records[-1], record_in)] if record_in else []
    return records, tuple(saved)


def _measured(run: "Callable[..., Record]", job: Job, timeout_s: float) -> Record:
    """The record of a run that came to something. Raises UnavailableError for any other."""
    try:
        record = run(job, timeout_s=timeout_s)
    except ChildError as problem:
        raise UnavailableError("run_failed", f"the run failed: {problem}", hint="a smaller --ctx or --batch, or fewer --repeats") from None
    if record.outcome in ("failed", "refused"):
        raise UnavailableError(
            "run_failed",
            f"the run failed: {record.error}",
            hint="these are the words of Transformers: try another version of it, or more layers",
        )
    return record


def _cut(config: dict[str, object], n_layers: int | None) -> dict[str, object]:
    return config if n_layers is None else cut(config, n_layers)


def _named(model_id: str, run: Run) -> str:
    return model_id if run.n_layers is None else f"{model_id} (first {run.n_layers} layers)"


def _written(config: dict[str, object], folder: Path) -> str:
    path = folder / "config.json"
    path.write_text(json.dumps(config), encoding="utf-8")
    return str(path)


def _job(ref: str, config: dict[str, object], estimate: Estimate, tier: Tier) -> Job:
    settings, load = estimate.settings, estimate.workload
    return Job(
        id=estimate.model.id if estimate.model.source == "builtin" else Path(ref).name,
        config=config,
        dtype=str(settings["dtype"]),
        ctx_tokens=load.ctx_tokens,
        batch=load.batch,
        prompt_tokens=load.prompt_tokens,
        device=tier,
        attn=str(settings["attn"]),
        cache=str(settings["cache"]),
        forward=str(settings["forward"]),
    )


def _pretending(job: Job, node: Node) -> Job:
    """A trace on the node's GPU; of one without a compute capability, which NVIDIA gives, it takes the path of any other."""
    if not node.gpus:
        return job
    gpu, capability = node.gpus[0], node.gpus[0].compute_capability
    return job._replace(gpu=gpu.name, capability=None if capability is None else ".".join(map(str, capability)))
