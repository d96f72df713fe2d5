"""What a cache of prefixes finds, as text: the log and the cache, what is found and saved, pools, what breaks prefixes."""

from collections.abc import Callable, Iterable, Iterator

from kvplan.prefixes import Prefix
from kvplan.prefixes.answer import LogRead, Told
from kvplan.prefixes.saving import Savings, Times
from kvplan.prefixes.serving import Serving
from kvplan.render.speed import short
from kvplan.render.table import aligned, middled

Paint = Callable[[str, str], str]
_EXAMPLE = 34
_CAUSES = {
    "timestamp": "dates and times",
    "id": "ids and nonces",
    "per_user": "a user's own text",
    "private_text": "text of one request",
    "tool_order": "order of tools",
    "key_order": "order of JSON keys",
    "system_variants": "system text in variants",
    "front_cut": "history cut in front",
    "whitespace": "white space",
}


def text(found: Prefix, *, explain: bool, paint: Paint) -> str:
    """The whole answer, ending in a newline."""
    blocks = [heading(found), "\n".join(_figures(found, paint)), *_more(found)]
    if explain:
        from kvplan.render.prefix_explained import explanation

        blocks.append(explanation(found))
    return "\n\n".join(block for block in blocks if block) + "\n"


def _more(found: Prefix) -> Iterator[str]:
    if found.chat is not None:
        from kvplan.render.prefix_chat import blocks

        yield from blocks(found)
    else:
        yield "\n".join(_pools(found))
        yield "\n".join(_breaks(found))


def heading(found: Prefix) -> str:
    """What was replayed through what."""
    parts = [*(_of_log(found.log) if found.log else _of_chat(found)), *_of_cache(found.serving)]
    return " · ".join(parts)


def _of_log(log: LogRead) -> Iterator[str]:
    yield log.name
    kinds = {"chat": "chats", "text": "texts", "ids": "lists of ids"}
    yield ", ".join(f"{count:,} {kinds[kind]}" for kind, count in log.kinds.items() if count)


def _of_chat(found: Prefix) -> Iterator[str]:
    assert found.chat is not None
    spec = found.chat.spec
    yield f"{spec.sessions:,} chat{'s' if spec.sessions > 1 else ''} of {spec.turns:,} turns"


def _of_cache(serving: Serving) -> Iterator[str]:
    estimate = serving.estimate
    if estimate is not None:
        yield estimate.model.id + (f" on {estimate.node.id or 'this budget'}" if estimate.node.gpus else "")
    yield serving.engine + (f" {serving.version}" if serving.version else "")
    if serving.n_slots is not None:
        yield f"{serving.n_slots} slot{'' if serving.n_slots == 1 else 's'}"
        return
    if serving.block_tokens > 1:
        yield f"blocks of {serving.block_tokens:,}"
    pool = serving.pool_tokens
    yield "a pool without end" if pool is None else f"a pool of {pool:,} tokens"


def _figures(found: Prefix, paint: Paint) -> Iterator[str]:
    rows = [("hit rate", _share(found.hit_rate), f"of {found.prompt_tokens:,} prompt tokens{_bounds(found)}")]
    computed = found.prompt_tokens - found.hit_tokens
    rows.append(("prefill saved", f"{found.hit_tokens:,}", f"tokens, {computed:,} are computed{_flops(found.savings)}"))
    if found.savings.without is not None and found.savings.within is not None:
        rows.append(("first token", *_times(found.savings.without, found.savings.within)))
    if found.warmth is not None:
        seen, warm = found.warmth, found.warmth.warm
        whose = "" if seen.named or found.chat else ", told by which request goes on with which"
        several = f"{seen.shared_tokens:,} of them in several of {seen.n_sessions:,} sessions" if seen.n_sessions > 1 else "of one session"
        rows.append(("distinct", f"{seen.distinct_tokens:,}", f"tokens, {several}{whose}"))
        if warm is not None:
            rows.append(("warm sessions", f"{warm:,}", f"of {seen.tokens_per_session:,} tokens each beside what they share"))
    if found.serving.pool_blocks is not None and found.thrash_tokens is not None:
        rows.append(
            ("thrashes below", f"{found.thrash_tokens:,}", f"tokens in the pool; without end {_share(found.endless_rate)} are found")
        )
    width, digits = max(len(row[0]) for row in rows), max(len(row[1]) for row in rows)
    for name, value, remark in rows:
        line = f"{name:<{width}}  {value:>{digits}}  {remark}"
        yield paint(line, "bold") if name == "hit rate" else line


def _bounds(found: Prefix) -> str:
    if found.hit_range is None or found.hit_range[0] == found.hit_range[1]:
        return ""
    return f" ({_share(found.hit_range[0])} – {_share(found.hit_range[1])} at the bounds of the pool)"


def _flops(savings: Savings) -> str:
    return "" if not savings.flops else f"; {_share((savings.saved_flops or 0) / savings.flops)} of {savings.flops:.2g} operations"


def _times(without: Times, within: Times) -> tuple[str, str]:
    low, _, high = within.mean
    slow = f"one in twenty over {short(within.p95)} s, was {short(without.p95)} s"
    return f"{short(within.mean.best)} s", f"({short(low)} – {short(high)}) in the mean, {short(without.mean.best)} s without; {slow}"


def _share(rate: float) -> str:
    return f"{100 * rate:.1f} %"


def _pools(found: Prefix) -> Iterable[str]:
    if not found.curve or found.endless_rate == 0:
        return ()
    own = found.serving.pool_tokens
    rows = [("pool tokens", "hit rate", "")]
    for size, rate in found.curve:
        rows.append(("without end" if size is None else f"{size:,}", _share(rate), "this one" if size is not None and size == own else ""))
    return aligned(rows, left=frozenset({2}))


def _breaks(found: Prefix) -> Iterator[str]:
    breaks = found.breaks
    if breaks is None:
        return
    asked = "" if breaks.is_whole else f", looked for in the first {breaks.n_requests:,} requests"
    if not breaks.causes:
        yield f"nothing breaks prefixes that could be mended{asked}"
        return
    rows = [("what breaks prefixes", "requests", "from token", "of misses", "mended", "for example")]
    for told in breaks.causes:
        cause = told.cause
        mended = "" if told.mended_rate is None else _share(told.mended_rate)
        rows.append(
            (
                _CAUSES[cause.kind],
                f"{cause.n_requests:,}",
                f"{cause.first_at:,}",
                f"{100 * told.share_of_misses:.0f} %",
                mended,
                _example(told),
            )
        )
    yield from aligned(rows, left=frozenset({0, 5}))
    if breaks.mended_rate is not None:
        yield f"all of it mended: {_share(breaks.mended_rate)} of the tokens are found, {_share(breaks.hit_rate)} now{asked}"


def _example(told: Told) -> str:
    pieces = told.cause.example.found.mine, told.cause.example.found.theirs
    return " / ".join(repr(piece) if told.cause.kind == "whitespace" else middled(" ".join(piece.split()), _EXAMPLE) for piece in pieces)
