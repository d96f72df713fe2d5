"""Changes of one setting that may cure a start, each tried in the estimator where the model and the card are known."""

import math
from collections.abc import Callable, Mapping

from kvplan.core.ledger import Fix
from kvplan.core.units import GIB
from kvplan.explainer import llama_fixes, torch_fixes
from kvplan.explainer.asking import VLLM_FLAGS
from kvplan.explainer.case import Case
from kvplan.explainer.trying import tried

_MARGIN = GIB // 4
_DEFAULTS = {"gpu_memory_utilization": "0.9", "enforce_eager": "False", "kv_cache_dtype": "auto"}


def fixes(case: Case, *names: str) -> tuple[Fix, ...]:
    """Those of the named moves that do, in the order in which they are to be tried: context and concurrency first, the cache's
    element type late. A move that the estimator says would not cure is left out."""
    found = (_MOVES[name](case) for name in names)
    return tuple(llama_fixes.in_ollamas_words(case, fix) if case.engine == "ollama" else fix for fix in found if fix is not None)


def _tried(case: Case, name: str, after: str, *, printed: int | None = None) -> Fix | None:
    """The change of one setting, if it cures as far as can be told; ``printed`` is its effect where the log itself gives it."""
    if case.engine not in (None, "vllm"):
        return None
    before = case.settings.get(name, "")
    if before == after:
        return None
    known = None if case.unknown else case.estimate()
    shown = before or (_DEFAULTS.get(name, "") if known is None else _resolved(known.settings.get(name)))
    needs_less = name != "gpu_memory_utilization" and case.shortage is not None
    return tried(case, Fix(VLLM_FLAGS[name], shown, after, printed), {name: after}, needs_less=needs_less)


def _resolved(value: object) -> str:
    return "" if value is None else str(value)


def _ctx(case: Case) -> Fix | None:
    """The longest context that the log says would fit, else the estimator."""
    asked = case.count("max_model_len")
    said = case.value("estimated maximum model length") or case.value("tokens that the pool holds") or case.value("derived max_model_len")
    needed = case.size("KV cache needed")
    if said and said >= 16:
        most = int(said) // 16 * 16
        effect = -round(needed * (1 - most / asked)) if needed and asked else None
        return _tried(case, "max_model_len", str(most), printed=effect)
    available = case.size("available KV cache memory")
    if needed and available and available > 0 and asked:
        most = int(asked * available / needed) // 256 * 256
        return _tried(case, "max_model_len", str(most), printed=-round(needed * (1 - most / asked))) if most else None
    known = case.estimate()
    if known is None or known.capacity is None or not known.capacity.max_ctx_tokens:
        return None
    most = known.capacity.max_ctx_tokens
    return _tried(case, "max_model_len", str(most)) if asked is None or most < asked else None


def _seqs(case: Case) -> Fix | None:
    """Fewer sequences: those that have state blocks, else powers of two down to what is enough."""
    blocks = case.value("available Mamba cache blocks")
    if blocks:
        return _tried(case, "max_num_seqs", str(int(blocks)))
    known = case.estimate()
    warmed = case.value("dummy requests")
    asked = case.count("max_num_seqs") or (int(warmed) if warmed else None) or _whole(known and known.settings.get("max_num_seqs"))
    n = 2 ** math.ceil(math.log2(asked)) // 2 if asked and asked > 1 else 0
    while n >= 8:
        found = _tried(case, "max_num_seqs", str(n))
        if found is not None:
            return found._replace(before=found.before or str(asked))
        n //= 2
    return None


def _whole(value: object) -> int | None:
    return value if isinstance(value, int) else None


def _batched(case: Case) -> Fix | None:
    """A shorter prefill step."""
    known = case.estimate()
    asked = case.count("max_num_batched_tokens") or _whole(known and known.settings.get("max_num_batched_tokens"))
    return _tried(case, "max_num_batched_tokens", "2048") if asked is None or asked > 2048 else None


def _more(case: Case) -> Fix | None:
    """A larger share of the card."""
    now = _utilization(case)
    total = case.size("total memory")
    for share in (0.92, 0.95):
        if share > now:
            effect = None if total is None else -round((share - now) * total)
            found = _tried(case, "gpu_memory_utilization", f"{share:g}", printed=effect)
            if found is not None:
                return found
    return None


def _less(case: Case) -> Fix | None:
    """A smaller share of the card, by what was missing beside the pool."""
    now, total, free = _utilization(case), case.size("total memory"), case.size("free at start")
    if case.ending.sign == "not_free" and total and free:
        share = math.floor(100 * free / total) / 100
    else:
        missing = (case.shortage or GIB) + _MARGIN
        share = math.floor(100 * (now - missing / total)) / 100 if total else now - 0.05
        share = min(share, now - 0.02)
    effect = None if total is None else -round((now - share) * total)
    return _tried(case, "gpu_memory_utilization", f"{share:.2g}", printed=effect) if 0 < share < now else None


def _utilization(case: Case) -> float:
    try:
        return float(case.settings.get("gpu_memory_utilization", ""))
    except ValueError:
        return 0.9


def _eager(case: Case) -> Fix | None:
    graphs = case.size("graphs", "estimated graphs")
    return _tried(case, "enforce_eager", "True", printed=None if graphs is None else -graphs)


def _split(case: Case) -> Fix | None:
    """Twice, four and eight times as many cards."""
    now = case.count("tensor_parallel_size") or 1
    found = (_tried(case, "tensor_parallel_size", str(now * times)) for times in (2, 4, 8))
    fix = next((fix for fix in found if fix is not None), None)
    return None if fix is None else fix._replace(before=str(now))


def _fewer_bits(case: Case) -> Fix | None:
    """The cache in eight bits."""
    if case.settings.get("kv_cache_dtype", "auto") not in ("auto", "bfloat16", "float16"):
        return None
    needed, available = case.size("KV cache needed"), case.size("available KV cache memory")
    if needed is not None and available is not None and needed // 2 > available:
        return None
    return _tried(case, "kv_cache_dtype", "fp8", printed=None if needed is None else -needed // 2)


_MOVES: Mapping[str, Callable[[Case], Fix | None]] = {
    "ctx": _ctx,
    "seqs": _seqs,
    "batched": _batched,
    "more": _more,
    "less": _less,
    "eager": _eager,
    "split": _split,
    "fewer_bits": _fewer_bits,
    "llama_ctx": llama_fixes.shorter,
    "llama_bits": llama_fixes.fewer_bits,
    "micro_batch": llama_fixes.smaller_batch,
    "flash": llama_fixes.flash_attention,
    "torch_batch": torch_fixes.smaller_batch,
    "torch_ctx": torch_fixes.shorter,
    "attention": torch_fixes.without_scores,
    "logits": torch_fixes.last_logits,
    "static": torch_fixes.static_cache,
    "torch_bits": torch_fixes.quantized_cache,
    "expandable": torch_fixes.expandable,
    "eight_bits": torch_fixes.eight_bits,
    "four_bits": torch_fixes.four_bits,
}
