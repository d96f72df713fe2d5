"""Changes of one of llama.cpp's settings that may cure a start."""

from kvplan.core.ledger import Fix
from kvplan.core.units import GIB
from kvplan.explainer.case import Case
from kvplan.explainer.trying import tried

_LEAST = 256  # tokens: what a context is rounded to
_SHARES = {"q8_0": 15 / 32, "q4_0": 23 / 32}
"""What of 16-bit elements these types save."""


def shorter(case: Case) -> Fix | None:
    """A context that fits: the estimator's, else the model's own, else half of what was asked."""
    asked, trained = case.value("n_ctx") or case.value("n_ctx_seq"), case.value("n_ctx_train")
    if not asked:
        return None
    size = case.size("KV cache", "failed allocation")
    after = int(min(_longest(case, asked) or _room(case, size, asked), trained or asked)) // _LEAST * _LEAST
    warned = case.ending.outcome not in ("oom", "refused")
    while _LEAST <= after < asked:
        effect = None if size is None else -round(size * (1 - after / asked))
        found = tried(case, Fix("-c", str(int(asked)), str(after), effect), {"n_ctx": str(after)}, needs_less=not warned)
        if found is not None:
            return found
        after = after // 2 // _LEAST * _LEAST
    return None


def _longest(case: Case, asked: float) -> int | None:
    known = None if case.unknown else case.estimate()
    most = known.capacity.max_ctx_tokens if known is not None and known.capacity is not None else None
    return most if most and most < asked else None


def _room(case: Case, size: int | None, asked: float) -> float:
    """The context that the printed free memory leaves, a GiB kept for what comes beside; half of what was asked where none is printed."""
    free = case.size("device free")
    weights = sum(figure.bytes or 0 for figure in case.start.figures if figure.label == "model buffer" and _on_device(figure.device))
    return asked / 2 if free is None or not size else asked * max(0, free - weights - GIB) / size


def _on_device(device: str | None) -> bool:
    return device is not None and not device.startswith("CPU") and not device.endswith("Host")


def smaller_batch(case: Case) -> Fix | None:
    """A smaller physical batch: the compute buffer grows with it."""
    asked = case.value("n_ubatch")
    size = case.size("failed allocation", "compute buffer")
    for after in (512, 256, 128):
        if asked and asked > after:
            effect = None if size is None else -round(size * (1 - after / asked))
            found = tried(case, Fix("-ub", str(int(asked)), str(after), effect), _of_batch(case, str(after)))
            if found is not None:
                return found
    return None


def _of_batch(case: Case, after: str) -> dict[str, str]:
    """Ollama has one size for both batches."""
    return {"n_ubatch": after, "n_batch": after} if case.engine == "ollama" else {"n_ubatch": after}


def flash_attention(case: Case) -> Fix | None:
    """Attention without its scores in memory."""
    now = case.settings.get("flash_attn", "off")
    needs_less = case.ending.sign != "quantized_v"
    return None if now == "on" else tried(case, Fix("-fa", now, "on"), {"flash_attn": "on"}, needs_less=needs_less)


def fewer_bits(case: Case) -> Fix | None:
    """The cache in eight bits and a half, else in four and a half, where that is known to be enough or not known not to be."""
    kept, asked = case.settings.get("type_k", "f16"), case.value("n_ctx") or case.value("n_ctx_seq")
    size = case.size("KV cache", "failed allocation")
    if kept not in ("f16", "bf16"):
        return None
    for form, saved in _SHARES.items():
        if size is not None and asked and case.size("device free") is not None and _room(case, round(size * (1 - saved)), asked) < asked:
            continue
        effect = None if size is None else -round(size * saved)
        found = tried(case, Fix(f"-ctk {form} -ctv", kept, form, effect), {"type_k": form, "type_v": form})
        if found is not None:
            return found
    return None


def for_slots(case: Case) -> tuple[Fix, ...]:
    """What lets a request that is longer than its slot in: fewer slots, one cache for all, a longer context; none that leaves it out."""
    slots, each = int(case.value("slots") or 1), case.value("n_ctx") or case.value("n_ctx_slot")
    request = case.value("request tokens") or 0
    now = "" if each is None else str(int(each))
    longest = case.value("n_ctx_train") or float("inf")
    size = case.size("KV cache", "KV buffer")
    found: list[Fix | None] = []
    if slots > 1 and each is not None and request <= each:
        found.append(tried(case, Fix("-np", str(slots), "1"), {"n_seq_max": "1"}, needs_less=False))
        found.append(tried(case, Fix("--kv-unified", "off", "on"), {"kv_unified": "true"}, needs_less=False))
    after = int(each) * slots if slots > 1 and each is not None else _rounded(request or 2 * (each or 4096))
    if after / slots < request:
        after = _rounded(request * slots)
    if after / slots <= longest:
        more = None if size is None or each is None or slots < 2 else round(size * (after / each - 1))
        found.append(tried(case, Fix("-c", now, str(after), more), {"n_ctx": str(after)}, needs_less=False))
    return tuple(fix for fix in found if fix is not None)


def in_ollamas_words(case: Case, fix: Fix) -> Fix:
    """The same change as Ollama has it: a context there is that of one slot."""
    if fix.flag == "-c":
        slots = case.count("n_seq_max") or 1
        before, after = (str(int(value) // slots) for value in (fix.before, fix.after))
        return fix._replace(flag="num_ctx", before=before, after=after)
    if fix.flag == "-fa":
        return fix._replace(flag="OLLAMA_FLASH_ATTENTION", before="", after="1")
    if fix.flag == "-ub":
        return fix._replace(flag="num_batch")
    return fix._replace(flag="OLLAMA_KV_CACHE_TYPE") if fix.flag.startswith("-ctk") else fix


def _rounded(tokens: float) -> int:
    return -(-int(tokens) // _LEAST) * _LEAST
