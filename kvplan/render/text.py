"""An Estimate as the text a person reads: no boxes, one unit a column, the total last."""

from collections.abc import Callable, Iterable

from kvplan.core.engine import Capacity
from kvplan.core.ledger import Entry, Interval
from kvplan.core.units import GIB, KIB, MIB, format_size
from kvplan.estimator.answer import Estimate

Paint = Callable[[str, str], str]

_UNITS = ((GIB, "GiB"), (MIB, "MiB"), (KIB, "KiB"), (1, "B"))  # TiB would hide what the smaller lines hold
_SHORT = {"float16": "fp16", "bfloat16": "bf16", "float32": "fp32", "float8_e4m3fn": "fp8"}
_VERDICTS = {"fits": "fits", "tight": "tight", "does_not_fit": "does not fit", "unknown": "unknown"}


def estimate(answer: Estimate, *, explain: bool, paint: Paint) -> str:
    """The whole answer, ending in a newline."""
    blocks = [heading(answer), *_tables(answer, paint), verdict(answer, paint)]
    if explain:
        from kvplan.render import explained

        blocks += explained.blocks(answer)
    return "\n\n".join(block for block in blocks if block) + "\n"


def heading(answer: Estimate) -> str:
    """Which model on what: the inputs that decide every number below."""
    load, settings = answer.workload, answer.settings
    weights = str(settings.get("dtype", answer.model.stored_dtype))
    parts = (
        answer.model.id,
        f"{answer.engine} {answer.version}",
        f"{answer.model.quantization or _SHORT.get(weights, weights)} weights",
        f"{_SHORT.get(answer.kv.k_dtype, answer.kv.k_dtype)} kv",
        f"{load.ctx_tokens:,} tokens × {load.batch}",
    )
    return " · ".join(parts)


def _tables(answer: Estimate, paint: Paint) -> Iterable[str]:
    shown = [place for place in answer.places if place.total.high]
    for place in shown:
        title = place.place.id if len(answer.places) > 1 else None
        yield table(
            title, [entry for entry in answer.entries if entry.place == place.place.id and entry.size.high], place.needed, answer, paint
        )


def table(title: str | None, entries: list[Entry], needed: Interval, answer: Estimate, paint: Paint) -> str:
    """Entries and their sum, in one unit that the largest chooses."""
    unit, unit_name = next((unit, name) for unit, name in _UNITS if needed.best >= unit)
    rows = [(entry.name, entry.size, str(entry.basis), _remark(entry, answer)) for entry in entries]
    width = max(len(name) for name, *_ in (*rows, ("needed",)))
    digits = max(len(f"{size.best / unit:.2f}") for _, size, *_ in (*rows, ("", needed, "", "")))
    lines = [title] if title else []
    for name, size, basis, remark in (*rows, ("needed", needed, "", "")):
        spread = "" if size.low == size.high else f"{size.low / unit:.2f} – {size.high / unit:.2f}"
        line = f"{name:<{width}}  {size.best / unit:>{digits}.2f} {unit_name}  {basis:<10}  {spread or remark}".rstrip()
        lines.append(paint(line, "bold") if name == "needed" else line)
    return "\n".join(lines)


def _remark(entry: Entry, answer: Estimate) -> str:
    if entry.term == "kv_cache" and len({other.place for other in answer.entries if other.term == "kv_cache" and other.size.high}) == 1:
        growth = answer.kv.marginal_bytes_per_token
        return f"{format_size(growth)} per {'' if growth == answer.kv.bytes_per_token else 'further '}token"
    if entry.term == "weights" and sum(other.term == "weights" for other in answer.entries) == 1:
        return f"{answer.size.n_params:,} parameters"
    return ""


def verdict(answer: Estimate, paint: Paint) -> str:
    """Whether it fits, what is left, and what else would fit."""
    fit = (*_refusal_lines(answer, paint), *_device_lines(answer, paint), *_capacity_lines(answer))
    return "\n".join((*fit, *_speed_lines(answer), *_fits_on_lines(answer)))


def _refusal_lines(answer: Estimate, paint: Paint) -> Iterable[str]:
    for refusal in answer.refusals:
        yield f"{paint('refused', 'red')} by {answer.engine} at {refusal.at} [{refusal.rule}]: {refusal.text}"


def _device_lines(answer: Estimate, paint: Paint) -> Iterable[str]:
    usable, headroom = answer.fullest.usable_bytes, answer.headroom_bytes
    if usable is None or headroom is None:
        yield "no GPU was named: its context, workspaces and allocator come on top"
        return
    where, room = _device(answer), _share(answer, usable)
    if answer.host_is_short:
        host = next(place for place in answer.places if place.place.id == "host")
        where, room, headroom = "the host", format_size(host.usable_bytes or 0), (host.usable_bytes or 0) - host.needed.best
    left = f"{format_size(abs(headroom))} {'left' if headroom >= 0 else 'short'}"
    yield f"{_word(answer, paint)} on {where}: {room} usable, {left}"


def _word(answer: Estimate, paint: Paint) -> str:
    if answer.refusals and answer.verdict in ("fits", "tight"):
        return f"does not start; by memory alone it {'fits' if answer.verdict == 'fits' else 'is tight'}"
    return paint(_VERDICTS[answer.verdict], {"fits": "bold", "tight": "yellow"}.get(answer.verdict, "red"))


def _share(answer: Estimate, usable: int) -> str:
    """What the engine may use, of what the card has where that is more."""
    free = answer.fullest.place.usable_bytes
    return format_size(usable) if free is None or free == usable else f"{format_size(usable)} of {format_size(free)}"


def _device(answer: Estimate) -> str:
    """The card that the numbers speak of: one of several where the engine uses no more."""
    gpus = answer.node.gpus
    if answer.node.id is None:
        return "this budget"
    index = int(answer.fullest.place.id.removeprefix("gpu"))
    return gpus[index].id if len(gpus) == 1 else f"{gpus[index].id}, one of {len(gpus)} cards"


def _capacity_lines(answer: Estimate) -> Iterable[str]:
    capacity, load = answer.capacity, answer.workload
    if capacity is None:
        return
    if capacity.n_blocks is not None:
        yield from _pool_lines(answer, capacity)
        return
    if not capacity.max_ctx_tokens and not capacity.max_batch:
        yield "no context fits, however short"
        return
    yield f"largest context at batch {load.batch}: {_some(capacity.max_ctx_tokens)}; {_largest_batch(answer, capacity)}"


def _pool_lines(answer: Estimate, capacity: Capacity) -> Iterable[str]:
    """A pool of blocks: what there is, what the engine says of it, and what of this workload it holds."""
    kind = f" of {capacity.block_tokens:,} tokens" if capacity.block_tokens else ""
    longest = f"sequences of up to {capacity.max_ctx_tokens:,} tokens" if capacity.max_ctx_tokens else "no sequence, however short"
    yield f"pool: {capacity.n_blocks:,} blocks{kind}; {answer.engine} starts with {longest}"
    if answer.predicted_log and capacity.kv_tokens is not None and capacity.max_concurrency is not None:
        low, best, high = capacity.max_concurrency
        tokens, requests = capacity.kv_tokens, "" if low == high else f" ({low:.2f} – {high:.2f})"
        spread = "" if tokens.low == tokens.high else f" ({tokens.low:,} – {tokens.high:,})"
        limit = None if answer.settings.get("auto_fit") else answer.settings.get("max_model_len")
        length = f" of {limit:,}" if isinstance(limit, int) else ""
        yield f"{answer.engine} prints {tokens.best:,} tokens{spread}, {best:.2f} requests{length}{requests}"
    yield _largest_batch(answer, capacity)


def _largest_batch(answer: Estimate, capacity: Capacity) -> str:
    return f"largest batch at {answer.workload.ctx_tokens:,} tokens: {_some(capacity.max_batch)}"


def _some(count: int | None) -> str:
    return f"{count:,}" if count else "none"


def _speed_lines(answer: Estimate) -> Iterable[str]:
    if answer.performance is not None:
        from kvplan.render import speed

        yield from speed.lines(answer.performance)


def _fits_on_lines(answer: Estimate) -> Iterable[str]:
    if answer.fits_on:
        cards = (candidate.gpu if candidate.n_devices == 1 else f"{candidate.n_devices} × {candidate.gpu}" for candidate in answer.fits_on)
        yield "smallest that fit: " + " · ".join(cards)
    elif answer.verdict in ("unknown", "does_not_fit") and not answer.host_is_short:
        yield "fits on nothing in the catalogue" + (" with this max_memory" if answer.settings.get("max_memory") else "")
