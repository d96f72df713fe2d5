"""Whether a prompt's attention scores are all in memory at once, why, and what avoids it."""

from collections.abc import Callable, Iterator
from typing import NamedTuple

from kvplan.core.ledger import Finding, Fix
from kvplan.engines.transformers.kernels import AMPERE, Context, Shape, choose, shape_of
from kvplan.engines.transformers.passes import Device, context
from kvplan.engines.transformers.plan import Plan

Held = tuple[Shape, Context]


class Change(NamedTuple):
    """One thing to do differently, the run that it makes, and the flag that does it if one does."""

    words: str
    made: Callable[[Context], Context]
    fix: Fix | None = None


def all_in_memory(plan: Plan, device: Device) -> tuple[Finding, ...]:
    """A note where eager attention or SDPA's math kernel holds a score for each pair of tokens, with the change that avoids it."""
    held = [(shape, run) for shape, run in _prompts(plan, device) if choose(shape, run)[0] in ("math", "eager")]
    if not held:
        return ()
    changes = next((changes for changes in _remedies(plan, device) if all(_avoids(changes, *one) for one in held)), ())
    words = " and ".join(change.words for change in changes)
    return (
        Finding(
            "KV306",
            "note",
            f"{_why(plan, *held[0])}: all scores of a prompt are in memory at once, and grow with its square",
            f"take {words}: its kernel keeps no scores"
            if words
            else "shorten the prompt, or let generate(prefill_chunk_size=…) read it in pieces",
            tuple(change.fix for change in changes if change.fix),
        ),
    )


def _prompts(plan: Plan, device: Device) -> Iterator[Held]:
    """Shape and run of each kind of layer in a long prompt: windows then need a mask."""
    for kind in plan.kinds:
        masked = plan.rules[kind.rule].window is not None and plan.settings.attn == "sdpa"
        for shape in filter(None, map(shape_of, kind.layer.mixers[:1])):
            yield shape, context(plan, device, decoding=False, masked=masked)


def _avoids(changes: tuple[Change, ...], shape: Shape, run: Context) -> bool:
    for change in changes:
        run = change.made(run)
    return choose(shape, run)[0] in ("flash", "efficient")


def _remedies(plan: Plan, device: Device) -> Iterator[tuple[Change, ...]]:
    """Changes that may help, from the least to the most expensive."""
    attn, dtype = plan.settings.attn, plan.settings.compute_dtype
    if plan.form.eager_only:
        return
    older = device.capability is not None and device.capability < AMPERE
    asked = (Change("--attn sdpa", lambda run: run._replace(attn="sdpa"), Fix("--attn", attn, "sdpa")),) if attn == "eager" else ()
    fp16 = Change("--dtype float16", lambda run: run._replace(elem_bytes=2, bfloat16=False), Fix("--dtype", dtype, "float16"))
    bf16 = Change("--dtype bfloat16", lambda run: run._replace(elem_bytes=2, bfloat16=True), Fix("--dtype", dtype, "bfloat16"))
    newer = Change("a GPU of compute capability 8.0 or newer", lambda run: run._replace(capability=AMPERE))
    yield asked
    yield (*asked, fp16 if older else bf16)
    yield (*asked, newer)
    yield (*asked, bf16, newer)


def _why(plan: Plan, shape: Shape, run: Context) -> str:
    if run.attn == "eager":
        return "this family attends eagerly only" if plan.form.eager_only else "attention is eager, as asked"
    if run.kv_heads == "broadcast":
        return "this family broadcasts its KV heads, which leaves SDPA only its math kernel"
    capability = "" if run.capability is None else f" on compute capability {run.capability[0]}.{run.capability[1]}"
    heads = f"{shape.n_heads} heads over {shape.n_kv_heads} KV heads" if shape.grouped else f"{shape.n_heads} heads"
    return f"for {plan.settings.compute_dtype}, {heads} of {shape.head_dim}{capability}, SDPA has only its math kernel"
