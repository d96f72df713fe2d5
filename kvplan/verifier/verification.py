"""A real run beside the estimate: refused before anything is allocated unless it fits."""

import importlib.util
import json
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple

from kvplan import estimator
from kvplan.core.errors import RequestError, UnavailableError
from kvplan.core.units import format_size
from kvplan.estimator import Estimate, Options
from kvplan.estimator.options import in_words
from kvplan.hardware import host
from kvplan.verifier import files
from kvplan.verifier.configs import config_of
from kvplan.verifier.process import ChildError, measure
from kvplan.verifier.reconcile import Term, reconcile
from kvplan.verifier.record import Job, Record
from kvplan.verifier.shrink import cut

if TYPE_CHECKING:
    from typing import Unpack

    from kvplan.estimator.options import Keywords

Backend = Literal["cuda", "cpu"]

TIMEOUT_S = 900.0  # a choice: longer than anybody waits


class Verification(NamedTuple):
    """What was measured, beside what was estimated. ``saved`` is the record's file where one was asked for."""

    tier: Backend
    estimate: Estimate
    record: Record
    terms: tuple[Term, ...]
    saved: Path | None

    @property
    def ok(self) -> bool:
        """Whether the run ended and every term agrees."""
        return self.record.outcome == "ran" and all(term.ok for term in self.terms)


def verify(
    model: str,
    *,
    backend: Backend = "cuda",
    n_layers: int | None = None,
    record_in: Path | None = None,
    timeout_s: float = TIMEOUT_S,
    **options: "Unpack[Keywords]",
) -> Verification:
    """Run ``model`` with random weights at its real shapes and reconcile the run with the estimate.

    ``backend`` cuda measures the first attached GPU; cpu measures weights and cache, which hold on any device. With
    ``n_layers`` only the first layers are built, and estimated. The record is written into the folder ``record_in``.
    Options are those of ``kvplan.estimate``. Raises RequestError for what Transformers does not run so; UnavailableError
    when torch or a GPU is missing, the run does not fit in what is free, or takes longer than ``timeout_s``, or fails.
    """
    return answer(in_words(model, options), backend=backend, n_layers=n_layers, record_in=record_in, timeout_s=timeout_s)


def answer(
    options: Options,
    *,
    backend: Backend = "cuda",
    n_layers: int | None = None,
    record_in: Path | None = None,
    timeout_s: float = TIMEOUT_S,
) -> Verification:
    """The same for a request in words: ``verify`` says what is done and raised."""
    config = _cut(config_of(options.model or ""), n_layers)
    estimate = _estimate(options if n_layers is None else options._replace(model=None), config, backend)
    job = _job(options.model or "", config, estimate, backend)
    record = _measured(job._replace(max_bytes=_guard(estimate, backend)), timeout_s)
    saved = files.write(record, record_in) if record_in else None
    return Verification(backend, estimate, record, reconcile(estimate, record), saved)


def _estimate(options: Options, config: dict[str, object], backend: Backend) -> Estimate:
    """The estimate of what will run: of ``config`` where the options name no model. Nothing is probed for a run that can't be."""
    _check_device(options, backend)
    with tempfile.TemporaryDirectory() as folder:
        asked = options if options.model is not None else options._replace(model=_written(config, Path(folder)))
        runnable = _check_settings(estimator.answer(asked._replace(gpu=None, gpus=None)))
        _need_torch()
        return runnable if backend == "cpu" else estimator.answer(asked._replace(gpu="local", gpus="1"))


def _measured(job: Job, timeout_s: float) -> Record:
    """The record of a run that came to something. Raises UnavailableError for any other."""
    try:
        record = measure(job, timeout_s=timeout_s)
    except ChildError as problem:
        raise UnavailableError("run_failed", f"the run failed: {problem}", hint="a smaller --ctx or --batch may tell more") from None
    if record.outcome in ("failed", "refused"):
        raise UnavailableError(
            "run_failed",
            f"the run failed: {record.error}",
            hint="these are the words of Transformers: try another version of it, or more layers",
        )
    return record


def timings(record: Record) -> Mapping[str, float | None]:
    """Seconds of building, of the prefill, and of one decode step on average."""
    decode = record.decode
    return {
        "build_s": record.model.seconds if record.model else None,
        "prefill_s": record.prefill.seconds if record.prefill else None,
        "decode_step_s": decode.seconds / decode.n_steps if decode else None,
    }


def _cut(config: dict[str, object], n_layers: int | None) -> dict[str, object]:
    return config if n_layers is None else cut(config, n_layers)


def _written(config: dict[str, object], folder: Path) -> str:
    path = folder / "config.json"
    path.write_text(json.dumps(config), encoding="utf-8")
    return str(path)


def _check_device(options: Options, backend: Backend) -> None:
    """Raises RequestError where the options name hardware: the run decides that."""
    named = options.budget or (options.gpu if options.gpu not in (None, "local") else None)
    if named is not None or options.gpus not in (None, "1"):
        here = "the first attached GPU" if backend == "cuda" else "this processor"
        raise RequestError(
            "contradiction", f"verify runs on {here}, not on {named or f'{options.gpus} GPUs'}", hint="leave the hardware out"
        )


def _check_settings(estimate: Estimate) -> Estimate:
    """The estimate itself, if a run can be made of it."""
    settings, reason = estimate.settings, None
    if estimate.engine != "transformers":
        reason = f"verify runs Transformers, not {estimate.engine}"
    elif estimate.model.quantization is not None:
        reason = f"verify builds random weights, and {estimate.model.quantization} needs real ones"
    elif settings["cache"] not in ("dynamic", "static"):
        reason = f"verify has no {settings['cache']} cache"
    elif settings["dtype"] != settings["compute_dtype"]:
        reason = f"verify builds random weights, and none in {settings['dtype']}"
    elif settings["kv_dtype"] != settings["dtype"]:
        reason = f"Transformers fills the cache in the type of the weights ({settings['dtype']}), not in {settings['kv_dtype']}"
    if reason:
        raise RequestError("unsupported", reason, hint="leave these options out; `kvplan estimate` answers without a run")
    return estimate


def _need_torch() -> None:
    missing = [name for name in ("torch", "transformers") if importlib.util.find_spec(name) is None]
    if missing:
        raise UnavailableError("torch_missing", f"not installed: {', '.join(missing)}", hint="pip install 'kvplan[verify]'")


def _guard(estimate: Estimate, backend: Backend) -> int:
    """Bytes that are free. Raises UnavailableError unless even the upper bound of the estimate fits in them."""
    ram = host.memory() if backend == "cpu" else None
    free = estimate.fullest.place.usable_bytes if backend == "cuda" else ram.available_bytes if ram else None
    where = estimate.node.gpus[0].name if backend == "cuda" else "this machine"
    needed = estimate.fullest.needed.high
    if free is None:
        raise UnavailableError("memory_unknown", f"{where} does not tell how much memory is free", hint="verify on another machine")
    if needed > free:
        hint = "lower --ctx or --batch, or cut the model with --layers"
        raise UnavailableError(
            "too_large", f"the run needs up to {format_size(needed)}, {format_size(free)} are free on {where}", hint=hint
        )
    return free


def _job(ref: str, config: dict[str, object], estimate: Estimate, backend: Backend) -> Job:
    settings, load = estimate.settings, estimate.workload
    return Job(
        id=estimate.model.id if estimate.model.source == "builtin" else Path(ref).name,
        config=config,
        dtype=str(settings["dtype"]),
        ctx_tokens=load.ctx_tokens,
        batch=load.batch,
        prompt_tokens=load.prompt_tokens,
        device=backend,
        attn=str(settings["attn"]),
        cache=str(settings["cache"]),
        forward=str(settings["forward"]),
    )
