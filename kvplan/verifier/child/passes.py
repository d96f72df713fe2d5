"""A prefill and the decode steps after it, with a snapshot after each phase; then the same against the clock."""

import time
from collections.abc import Iterator
from functools import partial

import torch

from kvplan.verifier import timings
from kvplan.verifier.child.build import Model, build
from kvplan.verifier.child.loop import Loop
from kvplan.verifier.child.meters import Meter
from kvplan.verifier.child.timing import Clock, timed
from kvplan.verifier.record import Job, Phase, Record, Snapshot

WARM_UP_TOKENS = 32  # a choice: a prompt that needs the kernels and costs little

SETTLED = 2  # the first decode step is unlike the others: windows let go of the prompt in it; from the second on they only grow
LONG = 2 * SETTLED  # decode steps of a trace beyond which it is quicker to prefill again, shortly before the end


class TooLargeError(Exception):
    """The weights alone do not fit in what the job allows."""


def run(record: Record, meter: Meter, *, clock: Clock = time.perf_counter) -> Iterator[Record]:
    """The record as it grows: the model built, warmed up, prefilled, decoded, timed.

    The warm-up makes the context, loads kernels and allocates cuBLAS's workspace, so that none of them counts as a peak. Nothing
    follows the tensors of the timed passes, which would slow them down.
    """
    job = record.job
    torch.manual_seed(0)
    _guard(job, meter)
    with torch.no_grad():
        with meter.running():
            model = build(job, meter.torch_device)
            record = record._replace(model=model.built, built=meter.snapshot())
            yield record
            if not meter.traced:
                _warm_up(job, model, meter)
            for reached in measured(record, model, meter):
                record = reached
                yield record
        if job.n_repeats and not meter.traced:
            yield record._replace(timings=_timed(job, model, meter, clock))


def measured(record: Record, model: Model, meter: Meter) -> Iterator[Record]:
    """The record with the memory of the loaded model, and of both phases."""
    job = record.job
    meter.settle()
    record = record._replace(loaded=meter.snapshot())
    yield record
    loop = _start(job, model, meter)
    record = record._replace(prefill=_phase(loop, meter, n_steps=1, first=True))
    yield record
    n_steps = job.ctx_tokens - job.prompt_tokens
    if n_steps and meter.traced and n_steps > LONG:
        decode = _phase(loop, meter, n_steps=1, first=False)
        del loop
        yield record._replace(decode=_with_last(decode, job, model, meter))
    elif n_steps:
        yield record._replace(decode=_phase(loop, meter, n_steps=n_steps, first=False))


def _timed(job: Job, model: Model, meter: Meter, clock: Clock) -> timings.Timings:
    """The statistics of the job's passes, of which those that only warm up are thrown away."""
    one = partial(timed, partial(_start, job, model, meter), n_steps=job.ctx_tokens - job.prompt_tokens, finish=meter.finish, clock=clock)
    for _ in range(job.n_warmup - 1):
        one()
    passes = [one() for _ in range(job.n_repeats)]
    return timings.summary(passes, batch=job.batch, n_warmup=job.n_warmup, build_s=model.built.seconds)


def _start(job: Job, model: Model, meter: Meter) -> Loop:
    return Loop(job, model.module, meter.torch_device)


def _guard(job: Job, meter: Meter) -> None:
    """Build the model without memory first. Raises TooLargeError when its parameters exceed the job's limit."""
    limit = job.max_bytes if job.max_bytes is not None else meter.free_bytes()
    if limit is None:
        return
    parameter_bytes = build(job, "meta").built.parameter_bytes
    if parameter_bytes > limit:
        raise TooLargeError(f"parameters take {parameter_bytes} bytes, {limit} are free")


def _with_last(early: Phase, job: Job, model: Model, meter: Meter) -> Phase:
    """The decode phase of a trace from its first step and its last, which attends to the most.

    The last step is reached from a prompt that ends shortly before it: what is held then is the same, however it came to be. The
    allocators see no such prompt, only the cache that it leaves.
    """
    loop = _start(job._replace(prompt_tokens=job.ctx_tokens - SETTLED), model, meter)
    with meter.unplaced():
        _phase(loop, meter, n_steps=1, first=True)
    _phase(loop, meter, n_steps=SETTLED - 1, first=False)
    last = _phase(loop, meter, n_steps=1, first=False)
    return last._replace(
        n_steps=job.ctx_tokens - job.prompt_tokens,
        seconds=early.seconds + last.seconds,
        kv_bytes=max(early.kv_bytes, last.kv_bytes),
        memory=_highest(early.memory, last.memory),
    )


def _highest(early: Snapshot, last: Snapshot) -> Snapshot:
    """Memory at the end, with the peaks of both."""
    names = ("peak_allocated_bytes", "peak_reserved_bytes", "peak_expandable_bytes")
    seen = {name: [value for value in (getattr(early, name), getattr(last, name)) if value is not None] for name in names}
    return last._replace(**{name: max(values) for name, values in seen.items() if values})


def _warm_up(job: Job, model: Model, meter: Meter) -> None:
    warm = min(WARM_UP_TOKENS, job.prompt_tokens)
    loop = _start(job._replace(ctx_tokens=warm + 1, prompt_tokens=warm), model, meter)
    loop.prefill()
    with loop.decoding():
        loop.decode()


def _phase(loop: Loop, meter: Meter, *, n_steps: int, first: bool) -> Phase:
    """Run one phase with peaks counted from its beginning."""
    if not first:
        meter.restart()
    start = time.perf_counter()
    if first:
        loop.prefill()
        meter.stepped()
    else:
        with loop.decoding():
            for _ in range(n_steps):
                loop.decode()
                meter.stepped()
    meter.finish()
    seconds = time.perf_counter() - start
    kv, state = loop.held()
    return Phase(n_steps=n_steps, seconds=seconds, kv_bytes=kv, state_bytes=state, memory=meter.snapshot(), kernels=meter.kernels())
