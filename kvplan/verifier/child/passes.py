"""A prefill and the decode steps after it, the way generate() runs them, with a snapshot after each phase."""

import contextlib
import inspect
import time
from collections.abc import Iterator

import torch
import transformers

from kvplan.verifier.child.build import Model, build
from kvplan.verifier.child.held import cache_bytes
from kvplan.verifier.child.meters import Meter
from kvplan.verifier.record import Job, Phase, Record

WARM_UP_TOKENS = 32  # a choice: a prompt that needs the kernels and costs little

SETTLED = 2  # the first decode step is unlike the others: windows let go of the prompt in it; from the second on they only grow
LONG = 2 * SETTLED  # decode steps of a trace beyond which it is quicker to prefill again, shortly before the end

# Up to 5.23 the cache went by other names; 5.24 calls it `cache` in every model.
_CACHE_NAMES = ("cache", "past_key_values", "cache_params")


class TooLargeError(Exception):
    """The weights alone do not fit in what the job allows."""


def run(record: Record, meter: Meter) -> Iterator[Record]:
    """The record as it grows: the model built, warmed up, prefilled, decoded.

    The warm-up makes the context, loads kernels and allocates cuBLAS's workspace, so that none of them counts as a peak.
    """
    job = record.job
    torch.manual_seed(0)
    _guard(job, meter)
    with meter.running(), torch.no_grad():
        model = build(job, meter.torch_device)
        record = record._replace(model=model.built)
        yield record
        if not meter.traced:
            _warm_up(job, model, meter)
        meter.settle()
        record = record._replace(loaded=meter.snapshot())
        yield record
        loop = _Loop(job, model, meter)
        record = record._replace(prefill=_phase(loop, meter, n_steps=1, first=True))
        yield record
        n_steps = job.ctx_tokens - job.prompt_tokens
        if n_steps and meter.traced and n_steps > LONG:
            decode = _phase(loop, meter, n_steps=1, first=False)
            del loop
            yield record._replace(decode=_with_last(decode, job, model, meter))
        elif n_steps:
            yield record._replace(decode=_phase(loop, meter, n_steps=n_steps, first=False))


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

    The last step is reached from a prompt that ends shortly before it: what is held then is the same, however it came to be.
    """
    loop = _Loop(job._replace(prompt_tokens=job.ctx_tokens - SETTLED), model, meter)
    _phase(loop, meter, n_steps=1, first=True)
    _phase(loop, meter, n_steps=SETTLED - 1, first=False)
    last = _phase(loop, meter, n_steps=1, first=False)
    peaks = [phase.memory.peak_allocated_bytes or 0 for phase in (early, last)]
    return last._replace(
        n_steps=job.ctx_tokens - job.prompt_tokens,
        seconds=early.seconds + last.seconds,
        kv_bytes=max(early.kv_bytes, last.kv_bytes),
        memory=last.memory._replace(peak_allocated_bytes=max(peaks)),
    )


def _warm_up(job: Job, model: Model, meter: Meter) -> None:
    warm = min(WARM_UP_TOKENS, job.prompt_tokens)
    loop = _Loop(job._replace(ctx_tokens=warm + 1, prompt_tokens=warm), model, meter)
    loop.prefill()
    with loop.decoding():
        loop.decode()


def _phase(loop: "_Loop", meter: Meter, *, n_steps: int, first: bool) -> Phase:
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
    kv, state = cache_bytes(loop.cache)
    return Phase(n_steps=n_steps, seconds=seconds, kv_bytes=kv, state_bytes=state, memory=meter.snapshot())


class _Loop:
    """What lives from one forward to the next: the cache, the tokens so far, the last logits."""

    def __init__(self, job: Job, model: Model, meter: Meter) -> None:
        self._module = model.module
        self._config = model.module.config.get_text_config(decoder=True)
        self._given = _arguments(model.module, job)
        self.cache = _cache(job, self._config)
        self._given[_cache_name(model.module)] = self.cache
        device = torch.device(meter.torch_device)
        self._ids = torch.randint(0, self._config.vocab_size, (job.batch, job.prompt_tokens), device=device)
        self._next = self._ids
        self._logits: torch.Tensor | None = None

    def decoding(self) -> "contextlib.AbstractContextManager[object]":
        """What generate() enters after the prefill: on a GPU it gathers experts per token instead of grouping them."""
        enter = getattr(self._module, "_optimize_model_for_decode", None)
        return enter() if enter else contextlib.nullcontext()

    def prefill(self) -> None:
        """One forward over the prompt."""
        self._logits = self._module(input_ids=self._next, **self._given).logits

    def decode(self) -> None:
        """The most likely next token, chosen in float32 as generate() does, and one forward over it."""
        assert self._logits is not None
        scores = self._logits[:, -1].to(copy=True, dtype=torch.float32)
        self._next = torch.argmax(scores, dim=-1)[:, None]
        self._ids = torch.cat([self._ids, self._next], dim=-1)
        self._logits = None
        self._logits = self._module(input_ids=self._next, **self._given).logits


def _arguments(module: "torch.nn.Module", job: Job) -> dict[str, object]:
    takes = inspect.signature(module.forward).parameters
    last_only = job.forward == "generate" and "logits_to_keep" in takes
    return {"use_cache": True, **({"logits_to_keep": 1} if last_only else {})}


def _cache_name(module: "torch.nn.Module") -> str:
    takes = inspect.signature(module.forward).parameters
    found = next((name for name in _CACHE_NAMES if name in takes), None)
    if found is None:
        raise ValueError(f"{type(module).__name__}.forward takes no cache: not measured")
    return found


def _cache(job: Job, config: "transformers.PreTrainedConfig") -> "transformers.Cache":
    if job.cache == "static":
        return transformers.StaticCache(config=config, max_cache_len=job.ctx_tokens)
    return transformers.DynamicCache(config=config)
