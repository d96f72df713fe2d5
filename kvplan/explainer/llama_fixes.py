"""Changes of one of llama.cpp's settings that may cure a start."""

from kvplan.core.ledger import Fix
from kvplan.core.units import GIB
from kvplan.explainer.case import Case


def shorter(case: Case) -> Fix | None:
    """A context that fits: the estimator's, else the model's own, else half of what was asked."""
    asked, trained = case.value("n_ctx") or case.value("n_ctx_seq"), case.value("n_ctx_train")
    if not asked:
        return None
    known = case.estimate()
    most = known.capacity.max_ctx_tokens if known is not None and known.capacity is not None else None
    most = most if most and most < asked else None
    size = case.size("KV cache", "failed allocation")
    after = int(min(most or _room(case, size, asked), trained or asked)) // 256 * 256
    effect = None if size is None else -round(size * (1 - after / asked))
    return Fix("-c", str(int(asked)), str(after), effect) if 256 <= after < asked else None


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
    if not asked or asked <= 128:
        return None
    after = 512 if asked > 512 else 128
    return Fix("-ub", str(int(asked)), str(after), None if size is None else -round(size * (1 - after / asked)))


def flash_attention(case: Case) -> Fix | None:
    """Attention without its scores in memory."""
    return None if case.settings.get("flash_attn") == "on" else Fix("-fa", case.settings.get("flash_attn", "off"), "on")


def fewer_bits(case: Case) -> Fix | None:
    """The cache in eight bits and a half, where that is known to be enough or not known not to be."""
    kept, asked = case.settings.get("type_k", "f16"), case.value("n_ctx") or case.value("n_ctx_seq")
    size = case.size("KV cache", "failed allocation")
    known = case.estimate({"type_k": "q8_0", "type_v": "q8_0"})
    if kept not in ("f16", "bf16") or (known is not None and known.verdict == "does_not_fit"):
        return None
    if size is not None and asked and case.size("device free") is not None and _room(case, size * 17 // 32, asked) < asked:
        return None
    return Fix("-ctk q8_0 -ctv", kept, "q8_0", None if size is None else -round(size * 15 / 32))
