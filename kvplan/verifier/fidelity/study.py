"""The quality that quantized caches leave: each sample run with all of them, kept as it ends, and judged together."""

import hashlib
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

from kvplan.core.errors import RequestError
from kvplan.core.ledger import Finding
from kvplan.core.model import ModelSpec
from kvplan.specs import load_model
from kvplan.verifier import checks
from kvplan.verifier.fidelity import findings, guard, process, samples, sizes, versions, weights
from kvplan.verifier.fidelity.asked import Job, Played, played_from, to_json
from kvplan.verifier.fidelity.measures import Answer, Measures, measures
from kvplan.verifier.fidelity.samples import Sample
from kvplan.verifier.fidelity.variant import DEFAULT, Variant, variants
from kvplan.verifier.fidelity.verdicts import Judged, judged
from kvplan.verifier.journal import Journal
from kvplan.verifier.run import Tier

N_NEW = 128
CTX_TOKENS = 4096


class Plan(NamedTuple):
    """What to do, as it is asked for; None is the usual.

    ``dtype`` is what the model computes in: float32 on a processor, the stored type on a GPU. Bytes are those of ``ctx_tokens``.
    """

    model: str
    kv_dtypes: str | None = None
    samples: str | None = None
    n_new: int = N_NEW
    ctx_tokens: int | None = None
    backend: str | None = None
    dtype: str | None = None


class Found(NamedTuple):
    """One cache: what it keeps of a sequence of ``ctx_tokens``, what it saves, what it costs. None where its run failed."""

    variant: Variant
    bytes: int
    measures: Measures | None
    judged: Judged


class Study(NamedTuple):
    """The answer. ``plain_bytes`` is what a cache of 16 bits keeps of one sequence of ``ctx_tokens``."""

    model: ModelSpec
    dtype: str
    tier: str
    device: str | None
    n_new: int
    ctx_tokens: int
    plain_bytes: int
    reference: Measures
    found: tuple[Found, ...]
    samples: tuple[tuple[Sample, Played], ...]
    findings: tuple[Finding, ...]
    versions: dict[str, str | None]


class Watcher(NamedTuple):
    """Who hears of a long run: ``begun`` how many samples there are and how many an earlier run did; ``step`` the samples done and all,
    and what is being done."""

    begun: Callable[[int, int], None] = lambda *_: None
    step: Callable[[int, int, str], None] = lambda *_: None


def quality(
    model: str,
    *,
    kv_dtype: str | None = None,
    samples: str | None = None,
    new: int = N_NEW,
    resume: str | None = None,
    **rest: str | int | None,
) -> Study:
    """Run ``model`` with a full-precision cache and with those of ``kv_dtype``, a list with commas; ``kvplan quality`` in Python.

    ``samples`` is a file of JSON lines, else what kvplan ships; each is gone on from for ``new`` tokens. ``resume`` is a file that keeps
    finished samples, which are not run again. ``ctx`` (tokens that bytes are given for), ``backend`` (cuda, cpu) and ``dtype`` may be
    said too. Raises RequestError for a wrong request, UnavailableError where torch is missing or the run fails.
    """
    ctx, backend, dtype = (rest.pop(name, None) for name in ("ctx", "backend", "dtype"))
    if rest:
        raise TypeError(f"quality() got an unexpected keyword argument '{next(iter(rest))}'")
    said = {"backend": None if backend is None else str(backend), "dtype": None if dtype is None else str(dtype)}
    plan = Plan(model, kv_dtype, samples, new, None if ctx is None else int(ctx), **said)
    journal = Journal(Path(resume)) if resume else None
    try:
        return study(plan, journal)
    finally:
        if journal:
            journal.close()


def study(plan: Plan, journal: Journal | None = None, watcher: Watcher | None = None) -> Study:
    """The same for a plan: ``quality`` says what is done and raised."""
    if plan.n_new < 1:
        raise RequestError("bad_count", f"--new: expected a whole number from 1 on, found {plan.n_new}", hint="--new 128")
    tried = variants(plan.kv_dtypes or ",".join(DEFAULT))
    asked = samples.read(plan.samples) if plan.samples else samples.built_in()
    if len({one.name for one in asked}) < len(asked):
        raise RequestError("bad_samples", f"{plan.samples}: two samples have one id", hint="leave the ids out")
    asked_tier, model = _backend(plan.backend), load_model(plan.model)
    found = sizes.heads(model)
    for one in tried:
        sizes.check(found, one)
    where = weights.of(plan.model, model)
    checks.need_torch()
    tier = checks.tier(asked_tier, loads=True)
    dtype = guard.dtype(plan.dtype, model, tier)
    job = Job(where.where, where.revision, where.gguf_file, dtype, tier, plan.n_new, tried, asked)
    guard.check(job, model, found)
    played, place = _played(job, where, journal, watcher or Watcher())
    ctx = plan.ctx_tokens or min(CTX_TOKENS, model.max_ctx_tokens or CTX_TOKENS)
    return judged_together(model, job, [(one, played[one.name]) for one in asked], ctx, place)


def _backend(said: str | None) -> Tier | None:
    if said not in (None, *_BACKENDS):
        raise RequestError("unsupported", f"--backend {said}: quality runs on cuda or cpu", hint="leave it out")
    return None if said is None else _BACKENDS[said]


_BACKENDS: dict[str, Tier] = {"cuda": "cuda", "cpu": "cpu"}


def _played(job: Job, where: weights.Weights, journal: Journal | None, watcher: Watcher) -> tuple[dict[str, Played], str | None]:
    """Every sample, those of the journal as they were found; and the device, None where nothing had to be run."""
    done = {one.name: past for one in job.samples if journal and (past := _past(journal, _key(job, where, one)))}
    left = [one for one in job.samples if one.name not in done]
    watcher.begun(len(job.samples), len(done))
    if not left:
        return done, None
    place: list[process.Place] = []
    of = {one.name: one for one in left}
    watcher.step(len(done), len(job.samples), "loading the model")

    def told(name: str, step: int) -> None:
        watcher.step(len(done), len(job.samples), f"{name}: token {step + 1}")

    for name, found in process.played(job._replace(samples=tuple(left)), place.append, told):
        done[name] = found
        if journal:
            journal.keep(_key(job, where, of[name]), to_json(found))
        watcher.step(len(done), len(job.samples), name)
    return done, place[0].device


def _past(journal: Journal, key: dict[str, object]) -> Played | None:
    try:
        known = journal.known(key)
        return None if known is None else played_from(known)
    except (KeyError, TypeError, ValueError):
        return None  # of a sweep, or of nobody: it is run again


def _key(job: Job, where: weights.Weights, sample: Sample) -> dict[str, object]:
    """What a result holds for: all that runs together, since sums in another batch differ in their last digits."""
    about = json.dumps([sample, job.variants, where], sort_keys=True)
    said = {"sample": sample.name, "dtype": job.dtype, "device": job.device, "new": job.n_new}
    return {"quality": hashlib.sha256(about.encode()).hexdigest()[:32], **said, "versions": versions.installed()}


def judged_together(model: ModelSpec, job: Job, played: Sequence[tuple[Sample, Played]], ctx_tokens: int, device: str | None) -> Study:
    """The study that the samples of ``job``, as they were ``played``, come to."""
    heads = sizes.heads(model)
    reference = measures([Answer(sample, one.n_prompt, one.rows[0], one.rows[0]) for sample, one in played])
    found = []
    for i, variant in enumerate(job.variants, 1):
        errors = [one.rows[i].error for _, one in played if one.rows[i].error]
        seen = None if errors else measures([Answer(sample, one.n_prompt, one.rows[i], one.rows[0]) for sample, one in played])
        verdict = Judged("failed", errors[0] or "") if seen is None else judged(seen)
        found.append(Found(variant, sizes.quantized_bytes(heads, variant, ctx_tokens), seen, verdict))
    plain, seen_with = sizes.plain_bytes(heads, ctx_tokens), versions.installed()
    said = findings.findings(reference, tuple(found))
    return Study(
        model,
        job.dtype,
        job.device,
        device,
        job.n_new,
        ctx_tokens,
        plain,
        reference,
        tuple(found),
        tuple(played),
        said,
        seen_with,
    )
