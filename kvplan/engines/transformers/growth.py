"""What a step takes for a moment so that a layer's cache grows, or is read where it is quantized."""

from kvplan.engines.transformers.kernels import FLOAT32
from kvplan.engines.transformers.plan import Kind, PerRule, Plan


def growth(plan: Plan, kind: Kind, *, full: bool) -> PerRule:
    """Bytes per entry that growing one layer's cache takes for a moment, beside the old one.

    torch.cat builds the new keys before the old ones go; a window builds keys and values first. A static window that is
    full is rolled into copies; the rest of a static cache is written in place, a quantized one is small.
    """
    cache, grown = plan.settings.cache, [0] * len(plan.rules)
    if kind.store.slots and cache not in ("quantized", "none"):
        slot = kind.store.slots[0]
        if slot.rule.shrinks:
            grown[kind.rule] = slot.bytes if cache == "dynamic" or full else 0
        elif cache == "dynamic":
            grown[kind.rule] = slot.key_bytes
    return tuple(grown)


def requantized(plan: Plan, kind: Kind) -> int:
    """Bytes per token attended to while a quantized layer is read: two float32 copies and the old values (fp8), or four plain copies."""
    keys, values = kind.widths["K"], kind.widths["V"]
    if plan.settings.cache != "quantized" or not kind.widths["N"]:
        return 0
    if plan.settings.kv_dtype.startswith("float8"):
        return plan.elem_bytes * keys + 2 * FLOAT32 * values + keys + values
    return 2 * plan.elem_bytes * (keys + values)
