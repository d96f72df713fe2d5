"""The ledger of a run: each size with its formula and source."""

from kvplan.core.ledger import Entry, Interval, exactly
from kvplan.core.workload import Workload
from kvplan.engines.transformers.footprint import Peaks
from kvplan.engines.transformers.plan import Plan
from kvplan.engines.transformers.widths import legend

CACHE_SOURCES = {
    "dynamic": "transformers 5.24 cache_utils.py, DynamicCache",
    "static": "transformers 5.24 cache_utils.py, StaticCache: made for all tokens",
    "quantized": "transformers 5.24 cache_utils.py, QuantizedCache: groups of 64, the last 128 tokens as they came",
}
WINDOW_SOURCES = {
    "dynamic": f"{CACHE_SOURCES['dynamic']}: after the prompt windows still hold all of it",
    "static": f"{CACHE_SOURCES['static']}, windows cut",
}


def counted(name: str, n: int, unit: str) -> str:
    """A formula's input ``name`` with its unit: ``{batch} sequences``, of one ``{batch} sequence``."""
    return f"{{{name}}} {unit}{'' if n == 1 else 's'}"


def cache(plan: Plan, load: Workload, size: Interval, kept: tuple[int, ...]) -> Entry:
    """Keys and values; ``kept`` are entries for each rule at the fuller of two moments, after the prompt and at the end."""
    parts, inputs = [], {"batch": load.batch}
    for i, (cost, n_entries) in enumerate(zip(plan.total, kept, strict=True)):
        parts.append(f"{{bytes{i}}} B · {counted(f'tokens{i}', n_entries, 'entry' if plan.rules[i].ratio > 1 else 'token')}")
        inputs |= {f"bytes{i}": cost, f"tokens{i}": n_entries}
    windows = any(rule.window is not None for rule in plan.rules)
    source = (WINDOW_SOURCES if windows and plan.settings.cache in WINDOW_SOURCES else CACHE_SOURCES)[plan.settings.cache]
    fixed = " + {fixed} B that do not grow" if plan.fixed_bytes else ""
    return Entry(
        term="kv_cache",
        name="kv cache",
        place="gpu0",
        size=size,
        basis="modeled" if plan.settings.cache == "quantized" else "exact",
        formula=f"{counted('batch', load.batch, 'sequence')} · ({' + '.join(parts)}{fixed})",
        inputs=inputs | ({"fixed": plan.fixed_bytes} if fixed else {}),
        source=source,
    )


def state(plan: Plan, load: Workload) -> Entry:
    """Recurrent and convolution states."""
    return Entry(
        term="recurrent_state",
        name="recurrent state",
        place="gpu0",
        size=exactly(plan.state_bytes * load.batch),
        basis="exact",
        formula=f"{counted('batch', load.batch, 'sequence')} · {{state}} B",
        inputs={"batch": load.batch, "state": plan.state_bytes},
        source="transformers 5.24 cache_utils.py, LinearAttentionLayer: recurrent states in float32, convolutions with all of their kernel",
    )


def activations(plan: Plan, load: Workload, peaks: Peaks, size: Interval, moment: str) -> Entry:
    """What the pass with the highest peak holds beside weights and cache."""
    decoding = peaks.decode > peaks.prefill
    step = load.ctx_tokens if plan.settings.cache == "none" else 1
    queries = step if decoding else load.prompt_tokens
    tokens = "the token" if load.batch * queries == 1 else f"each of {'{queries}' if load.batch == 1 else '{batch} × {queries}'} tokens"
    return Entry(
        term="activations",
        name="activations",
        place="gpu0",
        size=size,
        basis="modeled",
        formula=f"{{peak}} B alive in {{phase}} − {{cache}} B of cache; then {tokens} holds {{moment}}",
        inputs={
            "peak": max(peaks.prefill, peaks.decode),
            "phase": "decode" if decoding else "prefill",
            "cache": peaks.cache + peaks.state + peaks.logits,
            "batch": load.batch,
            "queries": queries,
            "moment": moment,
        },
        source="transformers 5.24 modeling code, lifetimes of its tensors" + ("" if plan.form.checked else "; a likeness, not compared"),
    )


def logits(plan: Plan, load: Workload, n_bytes: int) -> Entry:
    """Logits of every position, which a plain forward returns and generate() does not."""
    return Entry(
        term="logits",
        name="logits",
        place="gpu0",
        size=exactly(n_bytes),
        basis="exact",
        formula=f"{{batch}} × {counted('prompt', load.prompt_tokens, 'token')} · {{logits}} of {{elem}} B; {{legend}}",
        inputs={
            "batch": load.batch,
            "prompt": load.prompt_tokens,
            "legend": legend(plan.form.logits, {"W": plan.vocab}),
            "elem": plan.elem_bytes,
            "logits": plan.form.logits,
        },
        source="transformers 5.24: forward() without logits_to_keep",
    )
