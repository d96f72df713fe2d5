"""What people should know of settings that do not do what they look like."""

from collections.abc import Iterator

from kvplan.core.device import Node
from kvplan.core.ledger import Finding, Fix
from kvplan.core.model import ModelSpec
from kvplan.engines.llamacpp.context import Context
from kvplan.engines.llamacpp.fit import by_hand
from kvplan.engines.llamacpp.rules import VERSIONS, rules_for
from kvplan.engines.llamacpp.settings import Settings


def advice(model: ModelSpec, settings: Settings, node: Node, context: Context) -> tuple[Finding, ...]:
    """Notes on the build, on contexts that slots divide or share, on --fit, and on what a server keeps in the host's memory."""
    return (
        *_build(settings),
        *_pulled(model, settings),
        *_slots(model, settings, context),
        *_fit(settings, node),
        *_draft(model, settings),
    )


def _build(settings: Settings) -> Iterator[Finding]:
    if rules_for(settings.version)[1]:
        message = f"llama.cpp {settings.version} is newer than the builds that are modeled: the rules of {VERSIONS[-1]} are used"
        yield Finding("KV330", "warning", message, "compare with the buffer sizes in its log")


def _pulled(model: ModelSpec, settings: Settings) -> Iterator[Finding]:
    """Source: ollama 0.34 docs/import.md and the tags of its library: a name without a type is mostly Q4_K_M."""
    if settings.app == "ollama" and model.source == "builtin" and model.quantization is None:
        message = f"weights are counted as {model.stored_dtype}; what Ollama pulls under such a name is mostly q4_k_m"
        yield Finding("KV335", "note", message, f"say the type behind a colon: {model.id}:q4_k_m; `ollama show` prints what you have")


def _slots(model: ModelSpec, settings: Settings, context: Context) -> Iterator[Finding]:
    """Source: the most frequent surprise in public reports: -c is the context of all slots together, and pads up."""
    if settings.n_parallel == 1 or settings.app in ("bench", "ollama"):
        return
    n = settings.n_parallel
    if settings.kv_unified:
        yield Finding("KV331", "note", f"{n} slots share one cache of {context.n_ctx:,} tokens: not each of them can fill it")
        return
    asked = settings.n_ctx or model.max_ctx_tokens or context.n_ctx
    more = f", {context.n_ctx - asked:,} more than asked for" if context.n_ctx > asked else ""
    message = f"each of {n} slots holds {context.n_ctx_seq:,} tokens: {context.n_ctx:,} in all{more}"
    yield Finding("KV331", "note", message, "-kvu lets them share one cache", (Fix("-kvu", "off", "on"),))


def _fit(settings: Settings, node: Node) -> Iterator[Finding]:
    """Source: llama.cpp b11434 common/fit.cpp: 'n_gpu_layers already set by user'; issues 27872, 21801, 25487."""
    hand = by_hand(settings)
    if settings.fit and node.gpus and hand and settings.app == "ollama":
        message = "where num_gpu is said, or llama.cpp's variables place layers, none is moved: what does not fit then fails"
        yield Finding("KV332", "note", message, "leave it out, or see that it fits")
    elif settings.fit and node.gpus and hand:
        message = "--fit moves no layers where -ngl, -ts, -ot or --n-cpu-moe is said: what does not fit then fails"
        yield Finding("KV332", "note", message, "leave the placement out, or see that it fits")


def moved(model: ModelSpec, asked: Settings, settings: Settings) -> tuple[Finding, ...]:
    """What ``--fit`` left on the host, and what that costs."""
    if (asked.n_gpu_layers, asked.n_cpu_moe) == (settings.n_gpu_layers, settings.n_cpu_moe):
        return ()
    n_layers = model.n_layers + 1
    experts = f"the experts of {settings.n_cpu_moe} layers" if settings.n_cpu_moe else ""
    whole = f"{n_layers - settings.n_gpu_layers} of {n_layers} layers" if settings.n_gpu_layers >= 0 else ""
    message = f"--fit leaves {' and '.join(part for part in (whole, experts) if part)} to the host: it starts, and runs slower"
    return (Finding("KV334", "warning", message, "a smaller quantization, a shorter context or a larger card keeps all on it"),)


def _draft(model: ModelSpec, settings: Settings) -> Iterator[Finding]:
    if settings.drafting is not None and settings.drafting.model is not None and model.draft is None:
        message = f"the model that drafts, '{settings.drafting.model}', was not read: it is not counted"
        yield Finding("KV333", "warning", message, "name a model that kvplan can load")
